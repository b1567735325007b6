"""What runs in processes of its own around a program: the standard library only, so that it starts at once and runs
where etude is not installed. `etude.sandbox.launcher` builds the command lines."""
