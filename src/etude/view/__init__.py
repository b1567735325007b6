"""The page on which a person sees runs: live from a server on this machine, or as one file."""
