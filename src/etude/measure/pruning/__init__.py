"""What can go from a skill that stands."""
