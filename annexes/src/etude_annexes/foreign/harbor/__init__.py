"""Task folders of harbor: instruction, environment, tests, reward."""
