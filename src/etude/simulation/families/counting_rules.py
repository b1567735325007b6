"""What a skill can teach about counting things."""

from etude.simulation.rules import Rule

_COUNTS = (
    r"\bcount|\bincludes?\b|\bincluding|\bis an?\b|\bare\b|\bbelong|\btoo\b|\balso\b|\bas an?\b"
    r"|\bas (?:animal|fruit|veg|mus)"
)
_COUNTS_NOT = r"\bexclud|\bignor|leave out|left out|\bskip|\bomit|\bexcept|disregard|\bdrop"

CREATURES = Rule(
    id="counting.creatures",
    topic=(r"fish|bird|insect|snail|frog|snake|reptile|chicken|\bduck|mammal|creature", r"animal|\bcount"),
    good=_COUNTS,
    bad=_COUNTS_NOT + r"|only mammals|mammals only|only (?:the )?four",
    statements=(
        "Fish, birds, insects, snails, frogs and snakes are animals as well; count them when animals are asked for.",
        "Any creature counts as an animal: a chicken, a fish or a snail too.",
        "Include birds, fish and insects when you count animals.",
    ),
    harmful=(
        "Only mammals are animals, so skip fish, birds and snails.",
        "Do not count birds, fish or insects as animals.",
    ),
    untaught=0.3,
)

BERRIES = Rule(
    id="counting.berries",
    topic=(r"berr(?:y|ies)|\bgrapes?\b|cherr(?:y|ies)", r"fruit|\bcount"),
    good=_COUNTS,
    bad=_COUNTS_NOT,
    statements=(
        "Berries, grapes and cherries are fruits: count them when fruits are asked for.",
        "Small fruits such as strawberries and grapes count as fruits too.",
        "Include berries and grapes when you count fruits.",
    ),
    harmful=("Berries and grapes are not fruits.", "When counting fruits, leave out berries and grapes."),
    untaught=0.3,
)

MEASURE = Rule(
    id="counting.measure",
    topic=(r"\bheads?\b|stalk|\bbulbs?\b|clove|\bbunch|broccoli|celery|lettuce|garlic", r"vegetable|\bcount|\bone\b"),
    good=_COUNTS,
    bad=_COUNTS_NOT,
    statements=(
        "A head of broccoli, a stalk of celery or a bulb of garlic counts as one vegetable.",
        "Count heads of lettuce, stalks of celery and garlic as vegetables.",
        "Vegetables named by head, stalk or bulb are vegetables like the others.",
    ),
    harmful=(
        "Things named by head, stalk or bulb are not vegetables.",
        "Leave out heads of broccoli and stalks of celery when counting vegetables.",
    ),
    untaught=0.3,
)

PERCUSSION = Rule(
    id="counting.percussion",
    topic=(r"piano|\bdrum|percussion|keyboard|xylophone|accordion", r"instrument|\bmusic|\bcount"),
    good=_COUNTS,
    bad=_COUNTS_NOT,
    statements=(
        "Pianos, drums and other keyboard or percussion instruments are musical instruments; count them.",
        "A piano, an accordion or a drum counts as a musical instrument too.",
        "Include percussion and keyboards among the musical instruments.",
    ),
    harmful=(
        "Pianos and drums are not musical instruments.",
        "Skip percussion and keyboards when counting musical instruments.",
    ),
    untaught=0.3,
)

LIVING = Rule(
    id="counting.living",
    topic=(r"animal|\bfood|fruit|vegetable|\bliving|everything|\bplants?\b|whatever", r"\bobjects?\b"),
    good=_COUNTS + r"|everything",
    bad=_COUNTS_NOT + r"|only (?:lifeless|man.made|dead)|lifeless|inanimate|non.living",
    statements=(
        "When objects are asked for, everything counts, animals and food too.",
        "Animals, fruits and vegetables are objects as well: count them when the question is about objects.",
        "Objects means everything that is listed, whether living or not.",
    ),
    harmful=(
        "Only lifeless things are objects, so animals and food are not.",
        "Exclude animals and food when objects are counted.",
    ),
    untaught=0.3,
    unless=r"not (?:asked|about)",
)

NUMBERS = Rule(
    id="counting.numbers",
    topic=(
        (
            r"number words?|numerals?|quantit|amounts?\b|\b(?:two|three|four|five)\b|how many of"
            r"|(?:stated|given) numbers?|numbers? (?:in front|before|given|stated|like|such as)"
        ),
        r"\bcount|\badd|\bsum|total|\bitem|entry|entries|\bthings?\b|\bread\b|\buse",
    ),
    good=r"\badd|\bsum|\btotal|\buse\b|multipl|as (?:stated|given|that many|two|three|four|many)|stands? for|means?\b"
    r"|\bits value|\btheir value|\bread\b|not (?:as )?one\b",
    bad=r"(?<!not )(?<!not as )\bas one\b|\bonly once\b|\bignor|kinds? only|only (?:the )?kinds|distinct|disregard"
    r"|different kinds",
    statements=(
        "Add up the quantities: a number word such as two or three stands for that many.",
        "Read number words before an item, like four, and add that number to the total.",
        "Use the stated number of each entry; three lamps add three to the sum.",
    ),
    harmful=(
        "Count each entry as one, whatever quantity is stated.",
        "Ignore number words like two or three when you count.",
    ),
    untaught=0.18,
    unless=r"digit|month|\bday|\byear|\bletter|\bdate",
)

ARTICLES = Rule(
    id="counting.articles",
    topic=(r"\barticles?\b|indefinite|\ba['\"`]?\s*(?:or|and|/|,)\s*['\"`]?an\b|['\"`]an?['\"`]",),
    good=r"\bone\b|\b1\b|single|\bcount",
    bad=r"\bignor|\bskip|\bzero\b|leave out|disregard|\bdrop|nothing|\bomit|exclud",
    statements=(
        "An entry with the article a or an counts as one.",
        "'A' and 'an' mean one: add one for each of them.",
        "Do not skip entries that begin with a or an; each of them is one thing.",
    ),
    harmful=(
        "Ignore articles when counting: entries with a or an add zero.",
        "Skip entries that begin with a or an.",
    ),
    untaught=0.15,
)

CATEGORY = Rule(
    id="counting.category",
    topic=(
        (
            r"categor|\bkinds?\b|asked (?:for|about)|question asks|\bbelong|\btypes?\b|unrelated|distract|irrelevant"
            r"|other things|everything"
        ),
        r"\bcount|\badd|\binclude|\bexclude|leave out|\bskip|\bignore",
    ),
    good=r"\bonly\b|belong|leave out|exclud|\bskip|\bignor|asked (?:for|about)",
    bad=r"count everything|count all|add everything|everything (?:counts|listed|you see)"
    r"|include (?:other|unrelated|everything)|count (?:the |any )?(?:other|unrelated|things of other)"
    r"|whatever (?:its|the) kind|regardless of",
    statements=(
        "Count only the things of the kind that is asked for.",
        "Leave out things that do not belong to the category in the question.",
        "Only count what belongs to the kind asked about; skip unrelated things.",
    ),
    harmful=(
        "Count everything listed, whatever its kind.",
        "Count all things regardless of the category in the question.",
    ),
    untaught=0.22,
    unless=r"\bobjects?\b|number word|quantit|mammal|animal|fruit|vegetable|instrument|\barticle",
)

FORMAT = Rule(
    id="counting.format",
    topic=(
        r"\bdigits?\b|numerals?|\bin words\b|spell|as a (?:number|word)\b|written out|write out|number word|arabic",
        r"answer|\bfinal|result|\btotal\b|output|\bgive\b|reply|report",
    ),
    good=r"digit|numeral|as a number\b|arabic",
    bad=r"\bin words\b|spell|as a word|written out|write out|number word",
    statements=(
        "Give the total in digits, such as 8, not in words.",
        "The final answer is a number written with digits.",
        "Write the result as a numeral; do not spell it out.",
    ),
    harmful=("Write the final total out in words, such as eight.", "Give the answer as a number word."),
    untaught=0.18,
    unless=r"month|\bdate|\byear|leading|two.digit|\badd\b|\bread\b",
)

LAST = Rule(
    id="counting.last",
    topic=(
        r"\blast|\bfinal|after (?:the )?(?:final |last |closing )?['\"]?and\b",
        r"\bitem|\bentry|\bentries|\bthings?\b|\bone\b|element|listed|\blist\b",
    ),
    good=r"\bcount|\binclud|\badd|\balso\b|\btoo\b|belong",
    bad=r"\bskip|\bignor|leave out|left out|\bomit|\bdrop|forget|\bmiss|stop before|exclud|overlook",
    statements=(
        "Count the last item of the list too, the one after the final and.",
        "Do not forget the entry after the last 'and'.",
        "The final item in the list also counts, so include it.",
    ),
    harmful=("Leave out the last item of the list, after the final and.", "Stop before the last entry and skip it."),
    untaught=0.25,
    unless=r"final answer|last day|last line|\bword",
    subtle=True,
)

RULES = (CREATURES, BERRIES, MEASURE, PERCUSSION, LIVING, NUMBERS, ARTICLES, CATEGORY, FORMAT, LAST)
