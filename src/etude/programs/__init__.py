"""What is known about agent programs: how each is started, and how its output is read."""
