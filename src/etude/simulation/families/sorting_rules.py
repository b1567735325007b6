"""What a skill can teach about sorting words."""

from etude.simulation.rules import Rule

LETTERS = Rule(
    id="sorting.letters",
    topic=(
        r"letters?|characters?",
        (
            r"second|next|following|later|subsequent|third|further|letter by letter|character by character|\btie"
            r"|same|equal|identical|share|first|whole word|beyond"
        ),
    ),
    good=r"compar|look|check|\buse|go on|move|decid|break|broken|sort|order|continu|consider",
    bad=r"only (?:\w+ )?(?:by |on |at )?(?:the |their )?(?:first|initial)|first (?:letter|character)s? (?:only|alone)"
    r"|just (?:by )?the first|stop (?:at|after) the first|enough|original order|given order|input order",
    statements=(
        "When the first letters of two words are equal, compare the second letters, then the third, and so on.",
        "Compare words letter by letter: a tie on the first letter is decided by the next one.",
        "Look beyond the first letter; words that share it are ordered by their following letters.",
        "If words begin with the same letter, use the later letters to decide which comes first.",
    ),
    harmful=(
        "Compare only the first letter of each word and leave the rest in the given order.",
        "Looking at the first letter only is enough; it saves time.",
    ),
    untaught=0.38,
    unless=r"capital|upper.?case|lower.?case",
)

CASE = Rule(
    id="sorting.case",
    topic=(
        (
            r"capital|upper.?case|lower.?case|letter case|case.(?:in)?sensitiv|(?<!in )(?<!that )(?<!any )"
            r"\bcase\b(?! of)"
        ),
        r"compar|sort|order|letter|word|alphabet|first|before",
    ),
    good=r"ignor|regardless|irrespective|same|equal|alike|insensitive|disregard|as if|convert",
    bad=r"case.sensitive|(?:capital|upper.?case)[^.]*\b(?:first|before|ahead|precede)"
    r"|before (?:small|lower|the small)|distinguish|differen|matter|affect|influence|separate",
    statements=(
        "Ignore case when comparing: a capital letter counts the same as the small one.",
        "Treat capital and small letters as equal when you sort.",
        "Compare the words as if all were in lower case.",
        "Whether a word is capitalised does not affect its place in the order.",
    ),
    harmful=(
        "Put capitalised words before all words in small letters.",
        "Sort case-sensitively, with upper case letters ahead of lower case ones.",
    ),
    untaught=0.3,
)

COMPLETE = Rule(
    id="sorting.complete",
    topic=(
        r"\bwords?\b",
        r"\bevery\b|\ball\b|\beach\b|\bno\b|\bnone\b|\bany\b|missing|number of|\bcount|complet|\ba word\b|\bwords\b",
    ),
    good=r"includ|contain|\bkeep|appear|\bcheck|verif|\bcount|present|complete|same number|as many|make sure|account",
    bad=r"\bomit|\bdrop|leave out|left out|\bskip|\blose|\blost|forget|missing|shorten|\btrim|fall away",
    statements=(
        "Make sure that every word of the input is in the output: count the words before and after.",
        "Check that your answer has the same number of words as the list, so that none is missing.",
        "Never leave out a word, not even at the end of a long list.",
        "The sorted list must contain all the words that were given.",
    ),
    harmful=(
        "With a long list, leave out words at the end so that the answer stays short.",
        "You may skip the remaining words of a long list.",
    ),
    untaught=0.28,
    unless=r"number words?|quantit|how many|repeat|duplicat|twice|\bonce\b|apostroph|hyphen|punctuat|spell"
    r"|letter|capital|same word|identical",
)

REPEATS = Rule(
    id="sorting.repeats",
    topic=(
        (
            r"\brepeat(?:ed|s|ing)?\b|repetition|duplicat|twice|more than once|several times|multiple times"
            r"|same word|identical words?|occurrence|only once"
        ),
    ),
    good=r"\bkeep|includ|retain|preserv|\blist\b|\bwrite|as (?:often|many)|\bevery\b|\beach\b|\ball\b|appears? in",
    bad=r"\bdrop|remov|delet|discard|\bomit|\bskip|ignor|(?<!than )\bonce\b|unique|dedup|eliminat|merg|collapse"
    r"|distinct|single",
    statements=(
        "Keep repeated words: a word that occurs twice is listed twice.",
        "Never remove duplicates; write a word as often as it appears in the input.",
        "If the same word is given several times, include every occurrence.",
        "Duplicates stay in the list, so keep them all.",
    ),
    harmful=("List each repeated word only once.", "Remove duplicates before you sort."),
    untaught=0.3,
)

MARKS = Rule(
    id="sorting.marks",
    topic=(
        r"apostroph|hyphen|punctuat|special character|symbol|\bmarks?\b|exactly as|spelling|ampersand|unchanged",
        r"\bwords?\b|\bthem\b|apostroph|hyphen|punctuat",
    ),
    good=r"\bkeep|\bcopy|preserv|retain|exactly|unchanged|includ|part of|leave",
    bad=r"remov|strip|\bdrop|delet|\bcut|\bomit|discard|split|clean|leave out|shorten",
    statements=(
        "Copy words exactly as written, with their apostrophes, hyphens and other marks.",
        "Keep punctuation inside a word: an apostrophe or hyphen is part of it.",
        "Preserve special characters within words, such as ' and - and &.",
        "Do not cut a word at its apostrophe or hyphen.",
    ),
    harmful=(
        "Cut words at an apostrophe or hyphen and keep only the part before it.",
        "Clean words that have punctuation: drop it and what follows.",
    ),
    untaught=0.3,
)

FORMAT = Rule(
    id="sorting.format",
    topic=(
        r"spaces?\b|\bline\b|number(?:ed|ing)?\b|bullet|separat|enumerat",
        r"\bwords\b|sorted|\blist\b",
    ),
    good=r"single spaces?|by (?:one )?spaces?|with (?:one )?spaces?|space.separated|one line|single line|same line"
    r"|plain|one space",
    bad=r"\bnumbered|numbering|\bnumber (?:the|each|them|every|all)\b|bullet|enumerat|position numbers?",
    statements=(
        "Write the sorted words on one line, separated by single spaces, without numbering.",
        "Do not number the words in the answer; put only spaces between them.",
        "The answer is a plain list: words in a single line with one space between them.",
        "Separate the words of the answer by spaces; no bullets and no numbering.",
    ),
    harmful=("Number the words of the sorted list: 1. first 2. second.", "Give the words as a numbered list."),
    untaught=0.25,
    unless=r"how many|\bcount\b|\btotal\b|\bdate",
)

PREFIX = Rule(
    id="sorting.prefix",
    topic=(r"long\w*|short\w*|prefix", r"prefix|begin|start|beginning|same letters|runs? out|contain|ends?\b"),
    good=r"short\w*\b[^.]*\b(?:first|before|preced\w*|ahead|earlier)\b|prefix[^.]*\b(?:first|before|preced\w*)\b"
    r"|long\w*\b[^.]*\b(?:after|later|second|last|follow\w*)\b|(?:first|before)[^.]*\bthe short\w*",
    bad=r"(?<!start of a )(?<!start of the )(?<!beginning of a )(?<!beginning of the )(?<!part of a )"
    r"\blong\w*\b[^.]*\b(?:first|before|preced\w*|ahead)\b"
    r"|short\w*\b[^.]*\b(?:after|later|last|follow\w*)\b",
    statements=(
        "When one word is the beginning of another, the shorter word comes first.",
        "A shorter word goes before a longer word that starts with it.",
        "If a word is a prefix of another one, put the prefix first.",
        "Where a long word begins with a short one, the longer word comes after it.",
    ),
    harmful=(
        "When one word is the beginning of another, put the longer word first.",
        "A longer word goes before a shorter word that it starts with.",
    ),
    untaught=0.25,
    subtle=True,
)

RULES = (LETTERS, CASE, COMPLETE, REPEATS, MARKS, FORMAT, PREFIX)
