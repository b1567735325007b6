"""Reading settings and data of SkillOpt projects."""
