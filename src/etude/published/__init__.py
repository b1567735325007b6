"""The published loop (SkillOpt) and its variants: what only the policies `paper` and `rewrite_first` read."""
