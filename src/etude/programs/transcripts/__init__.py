"""What each agent program writes down of its work, read by one reader for attempts and for nights."""
