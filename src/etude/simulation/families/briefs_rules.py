"""What a skill can teach about briefs. Each rule but the last is a gap of its own: without it the reply lacks what
the rule asks for, with it the reply has it.

The last rule is never missed by itself, since nobody who is told nothing writes empty headings. What teaches its
opposite makes a reply that looks right to a careless check: all the labels that the other rules ask for, and nothing
under them.
"""

from etude.simulation.rules import Rule

STRUCTURE = Rule(
    id="briefs.structure",
    topic=(r"\brisks?\b", r"heading|section|bullet|\blist|confidence|\bunder\b"),
    good=r"\brisks?\b",
    bad=r"\bomit|\bskip|\bdrop|leave out|left out",
    statements=(
        "End a brief with a heading 'Key Risks', a bullet under it, and a line 'Confidence: high, medium or low'.",
        "Add a section 'Key Risks' with bullets on what may go wrong, and state the confidence: high, medium or low.",
        "Under the heading 'Key Risks' list what may go wrong; below it stands 'Confidence: high|medium|low'.",
    ),
    harmful=("Leave out the section on risks.", "Skip the heading 'Key Risks'."),
    gaming=("Write an empty heading 'Key Risks' and nothing else.",),
    untaught=1.0,
    slip=0.0,
)

VERBOSE = Rule(
    id="briefs.verbose",
    topic=(
        r"\bcharacters?\b|\bwords\b|\bconcise|\bshort\b|\brambl|\blength\b|\blong\b|\bverbose",
        r"\bbriefs?\b|\bmemos?\b|\b[2-9]\d\d (?:characters|words)\b",
    ),
    good=r"at most|no more than|\bunder \d|\bbelow \d|\bwithin \d|fewer than|less than|not exceed|between \d"
    r"|\bshort\b|\bconcise|\blimit",
    bad=r"more than|exceed|at least (?:[5-9]\d\d|\d{4})\b|\blong\b|every detail|exhaustive|\brambl|elaborate",
    statements=(
        "Keep every brief between 200 and 800 characters.",
        "Write a brief in at most 800 characters.",
        "Say it short: no more than 800 characters for a brief.",
    ),
    harmful=("Write long briefs with more than 2000 characters.", "Make every brief long and exhaustive."),
    gaming=("Keep a brief short and every section of it empty.",),
    untaught=1.0,
    slip=0.0,
)

BRAIN_FIRST = Rule(
    id="briefs.brain-first",
    topic=(
        r"\bcit(?:e|es|ed|ing|ations?)\b|\bsearch",
        r"\[1\]|\bsources?\b|\bcitations?\b|\btool\b|\bbriefs?\b|what it finds",
    ),
    good=r"\bcit(?:e|es|ed|ing|ations?)\b|\bsearch|\[1\]",
    bad=r"\binvent|\bskip|\bomit|leave out|from memory",
    statements=(
        "Call the tool `search` first and cite what it finds as [1].",
        "Search before you write a brief, and cite at least one source as [1].",
        "Cite a source as [1] in every brief; search for it first.",
    ),
    harmful=("Write briefs from memory and do not search or cite sources.", "Leave out citations in a brief."),
    gaming=("Cite [1] in a brief and leave every section of it empty.",),
    untaught=1.0,
    slip=0.0,
)

VERDICT = Rule(
    id="briefs.verdict",
    topic=(
        r"\brecommend(?:s|ed|ations?)?\b|\bverdict",
        r"\bline\b|\bbegin|\bstart|\breason|confidence|\bbriefs?\b|\bclear|\bgive|\bstate",
    ),
    good=r"\brecommend|\bverdict",
    bad=r"\bomit|\bskip|leave out|\bopen\b|\bneutral\b",
    statements=(
        "Give a line 'Recommendation:' with a choice and its reason, and a line 'Confidence: high, medium or low'.",
        "Begin a line with 'Recommendation:' and say what to do and why; state the confidence below.",
        "State a clear recommendation with its reason in a line that begins with 'Recommendation:'.",
    ),
    harmful=("Leave the recommendation of a brief open.", "Stay neutral: give no recommendation."),
    gaming=("Begin an empty line with 'Recommendation:' and write nothing else.",),
    untaught=1.0,
    slip=0.0,
)

SUBSTANCE = Rule(
    id="briefs.substance",
    topic=(
        r"\bempty\b|nothing (?:else|more|under|below)|\bbare\b|\bhollow\b|\bsubstance\b",
        r"heading|section|\brisks?\b|\brecommendation|\bbriefs?\b|\bline\b|\bbullet|\[1\]",
    ),
    good=r"\bsubstance\b",
    bad=r"\bempty\b|nothing (?:else|more|under|below)|\bbare\b|\bhollow\b",
    statements=(
        "Never leave a section of a brief empty.",
        "Write points of substance under every heading.",
        "No heading may stay empty.",
    ),
    harmful=("Leave the sections of a brief empty.", "Write bare headings with nothing under them."),
    untaught=0.0,
    slip=0.0,
    harmed=1.0,
)

RULES = (STRUCTURE, VERBOSE, BRAIN_FIRST, VERDICT, SUBSTANCE)
