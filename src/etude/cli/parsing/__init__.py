"""What can be typed: verbs, their arguments and dotted flags. Imports nothing heavy, so that help is instant."""
