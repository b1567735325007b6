"""What attempts tasks."""
