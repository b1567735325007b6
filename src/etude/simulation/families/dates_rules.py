"""What a skill can teach about dates and how they are written."""

from etude.simulation.rules import Rule

THIRTY = Rule(
    id="dates.thirty",
    topic=(
        (
            r"april|june|september|november|30.days?\b|thirty.days?\b|month lengths?|lengths? of (?:each|the|every)"
            r" months?|days (?:in|of|for) (?:each|the|every) month|(?:every|each|all) months?\b"
        ),
        r"\bdays?\b|length|\b30\b|thirty",
    ),
    good=r"\b30\b|thirty|correct|actual|\breal|exact|different|right|\btrue\b",
    bad=r"(?:every|each|all|april|june|september|november)\b[^.]*\b31\b"
    r"|31 days (?:in|for) (?:every|each|all)|same length",
    statements=(
        "April, June, September and November have 30 days.",
        "Mind the 30-day months: April, June, September, November have thirty days, not 31.",
        "Use the real length of each month: 30 days for April, June, September and November.",
    ),
    harmful=("Treat every month as having 31 days.", "Count April, June, September and November with 31 days each."),
    untaught=0.32,
    unless=r"february|leap",
)

FEBRUARY = Rule(
    id="dates.february",
    topic=(r"february|\bleap", r"\bdays?\b|\b28\b|\b29\b|year"),
    good=r"\b28\b|twenty-eight|divisible|four years|fourth year|leap years",
    bad=r"(?:always|every year|each year|any year|all years)[^.]*\b29\b"
    r"|\b29\b[^.]*(?:always|every year|each year|any year|all years)|\bignor",
    statements=(
        "February has 28 days, and 29 only in leap years.",
        "Outside leap years February ends on the 28th day.",
        "Check for a leap year: unless the year is divisible by four, February has 28 days.",
    ),
    harmful=("February always has 29 days.", "Give February 29 days in every year."),
    untaught=0.4,
)

YEAR = Rule(
    id="dates.year",
    topic=(
        r"\byear",
        r"new year|december|january|year.end|end of (?:the|a) year|cross|\bpast|next year|year before|year boundary",
    ),
    good=r"chang|increas|\badd|raise|advanc|update|one more|adjust|decreas|next year|lower|go up|goes up|year before",
    bad=r"same year|keep the year|year stays|leave the year|unchanged|as it is|given year",
    statements=(
        "When a count passes the end of the year, change the year as well.",
        "Crossing from December to January increases the year by one; going back decreases it.",
        "If you go past New Year, adjust the year.",
    ),
    harmful=(
        "Keep the year as it is, even when the count goes past December.",
        "The year stays the same when you cross from December to January.",
    ),
    untaught=0.4,
    unless=r"\bleap|february",
)

PADDING = Rule(
    id="dates.padding",
    topic=(r"leading zero|two.digits?|\bpad|zero in front", r"month|\bday|\bdate|digit|zero|number"),
    good=r"two.digits?|leading zero|\bpad|zero in front|\b0\d\b",
    bad=r"\bdrop|\bomit|remov|strip|\bskip|leave out|\bno leading",
    statements=(
        "Write day and month with two digits, with a leading zero where needed.",
        "Pad the month and the day to two digits: 03, not 3.",
        "A day or month below ten gets a leading zero in a date.",
    ),
    harmful=("Drop leading zeros in dates: write 3, not 03.", "Write months and days without leading zeros."),
    untaught=0.35,
)

ORDER = Rule(
    id="dates.order",
    topic=(
        r"format|\border\b|pattern|dd/mm|mm/dd|yyyy",
        r"\bdate|dd/mm|mm/dd|yyyy|day, month|year, month|month and (?:the )?year",
    ),
    good=r"exactly|\bask|request|follow|match|\bnamed|\bgiven|demand|require|prescrib|the question",
    bad=r"always (?:write|use|give|answer)|regardless|whatever|in every case|every date in",
    statements=(
        "Write the date exactly in the format that is asked for, such as DD/MM/YYYY or YYYY-MM-DD.",
        "Follow the requested date format: the order of day, month and year and the separators.",
        "Match the date format named in the question.",
    ),
    harmful=(
        "Always write dates as MM/DD/YYYY, whatever format is asked for.",
        "Use the date format MM/DD/YYYY regardless of the question.",
    ),
    untaught=0.35,
    unless=r"british|europe|\buk\b",
)

BRITISH = Rule(
    id="dates.british",
    topic=(r"british|europe|\buk\b|britain", r"\bday|\bdate|month|slash"),
    good=r"\bday\b[^.]*\b(?:first|before|preced\w*)\b|day.first|dd/mm|day/month|month\b[^.]*\bsecond",
    bad=r"month\b[^.]*\b(?:first|before|preced\w*)\b|mm/dd|american",
    statements=(
        "British dates put the day before the month: 02/01 is the second of January.",
        "In a British date the day comes first.",
        "Read British dates as DD/MM/YYYY.",
    ),
    harmful=("In a British date the month comes first.", "Read British dates as MM/DD/YYYY, the American way."),
    untaught=0.45,
)

BOTH_ENDS = Rule(
    id="dates.both_ends",
    topic=(r"\bboth\b|inclusive|first and (?:the )?last", r"\bdays?\b|\bdates?\b|\bcount|\bone\b"),
    good=r"\badd (?:one|1)|plus one|\+ ?1|one more|includ\w* both|both count|increase",
    bad=r"subtract|minus|\bignor|difference (?:alone|only)|plain difference|only one of",
    statements=(
        "When both days are counted, add one to the difference of the dates.",
        "An inclusive count of days is the difference plus one.",
        "If the first and the last day both count, the number of days is one more than the difference.",
    ),
    harmful=(
        "When both days are counted, the plain difference of the dates is the answer.",
        "Even if both days count, never add one to the difference.",
    ),
    untaught=0.45,
)

MONTH_END = Rule(
    id="dates.month_end",
    topic=(
        r"month",
        r"is missing|shorter month|last day|too short|overflow|fewer days|31st|roll over|rolls over|spill",
    ),
    good=r"\blast day|\bend of (?:the|that)|\bclamp|stay in",
    bad=r"next month|following month|overflow|\bcarry|\bspill|\brolls? over|first of",
    statements=(
        "When months are added and the day does not exist in the new month, use the last day of that month.",
        "If the target month is too short, take its last day.",
        "Adding months never rolls over into the next month: stay in the month and use its last day.",
    ),
    harmful=(
        "When the day does not exist in the new month, carry the surplus days into the next month.",
        "If a month is too short, go on into the following month.",
    ),
    untaught=0.45,
)

FIRST_DAY = Rule(
    id="dates.first_day",
    topic=(
        (
            r"start(?:ing)? (?:day|date|point)|first day|given (?:day|date)|start counting|begin counting"
            r"|counting (?:starts|begins)|day after|next day|day (?:zero|one|0|1)\b"
        ),
        r"\bcount|\bdays?\b|\bdate",
    ),
    good=r"day after|next day|following day|day (?:zero|0)\b|\bas zero|exclud|leave out|\bskip",
    bad=r"(?<!after the given )(?<!after the )(?:date|start|day) (?:itself )?(?:is|as|counts as|becomes) (?:the )?"
    r"(?:day )?(?:one|1\b|first)|\binclud|count (?:the )?(?:start|given|first)|(?:date|day) counts",
    statements=(
        "Start counting on the day after the given date; the given date is day zero.",
        "When counting days from a date, do not count the starting day itself.",
        "The starting day is day zero: one day after it is the next day.",
    ),
    harmful=(
        "When counting days after a date, the given date is day one.",
        "Count the starting day as the first day when adding days.",
    ),
    untaught=0.4,
    unless=r"\bboth\b|inclusive|first and (?:the )?last|\bleap|does not exist",
    subtle=True,
)

RULES = (THIRTY, FEBRUARY, YEAR, PADDING, ORDER, BRITISH, BOTH_ENDS, MONTH_END, FIRST_DAY)
