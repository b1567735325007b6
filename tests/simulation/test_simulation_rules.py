"""Recognising what an instruction text teaches."""

import pytest

from etude.simulation.families import RULES, rule_by_id
from etude.simulation.rules import State, statements, states

TEACHING = {
    "sorting.letters": [
        "If two words start with the same letter, look at the second letter to decide, and so on.",
        "When sorting, compare the full words character by character, not just the initial.",
        "Ties on the first letter must be broken by the following letters.",
        "Words sharing a first letter are sorted by their next letters.",
        "**Compare beyond the first letter**: use the second and third letters to break ties.",
    ],
    "sorting.case": [
        "Sorting is case-insensitive: Apple and apple compare as the same.",
        "Disregard capitalization of letters when ordering the words.",
        "Upper-case and lower-case letters should be treated identically, as if lowercase.",
        "Capital letters do not matter for the order.",
        "Never let a capital letter influence the sort order.",
    ],
    "sorting.complete": [
        "Verify that all words from the input appear in the output.",
        "Do not drop any word from the list.",
        "Count the words in your output and check the count against the input.",
        "Every word must be included.",
        "After sorting, check that no word is missing.",
    ],
    "sorting.repeats": [
        "Preserve duplicate words; do not deduplicate.",
        "If a word appears more than once in the input, it must appear the same number of times: keep every copy.",
        "Repeated words should be kept, not merged.",
        "Don't drop duplicates.",
        "Include a word twice when it is listed twice.",
    ],
    "sorting.marks": [
        "Keep hyphens and apostrophes in the words.",
        "Words must be copied exactly as they appear, including punctuation such as apostrophes.",
        "Don't strip punctuation from words.",
        "Leave hyphenated words unchanged.",
        "Reproduce words with special characters unchanged.",
    ],
    "sorting.format": [
        "Output the sorted words separated by single spaces on one line.",
        "Return the words as a plain space-separated list, without bullets or numbering.",
        "Do not add numbering to the sorted list.",
        "Put the words on a single line with spaces between them.",
    ],
    "sorting.prefix": [
        "If one word is a prefix of another, the shorter word goes first.",
        "A word that is the beginning of a longer word precedes the longer one: shorter first.",
        "When a word runs out of letters, the shorter one comes before the longer one.",
        "Shorter words come before longer words that begin with the same letters.",
    ],
    "counting.creatures": [
        "Remember that birds, fish and insects count as animals.",
        "Treat snails and frogs as animals too.",
        "Chickens and ducks are animals.",
        "When counting animals, include fish and birds.",
    ],
    "counting.berries": [
        "Strawberries, grapes and other berries are fruits too.",
        "Count berries as fruits.",
        "When asked for fruits, include grapes and blackberries.",
    ],
    "counting.measure": [
        "Count a head of broccoli or a stalk of celery as one vegetable.",
        "Heads of lettuce and garlic are vegetables too.",
        "Include items like 'stalk of celery' when counting vegetables.",
    ],
    "counting.percussion": [
        "Drums, pianos and accordions are musical instruments.",
        "Count percussion instruments such as drums as musical instruments.",
        "Remember to include pianos when counting instruments.",
    ],
    "counting.living": [
        "For questions about objects, count everything, including animals and fruits.",
        "Animals and food items count as objects.",
        "If the question asks for objects, include living things and food.",
    ],
    "counting.numbers": [
        "When an item has a number word (two, three), add that quantity.",
        "Sum the quantities of the items, e.g. three lamps count as three.",
        "Use the quantity given for each item instead of counting it as one.",
        "Add the number words such as 'four' to the total.",
    ],
    "counting.articles": [
        "Treat 'a' and 'an' as one.",
        "Each item with an indefinite article counts as 1.",
        "Don't ignore items introduced by a or an.",
        "'a' or 'an' means exactly one item.",
    ],
    "counting.category": [
        "Only count items belonging to the category asked about.",
        "Ignore items that are not of the requested kind.",
        "Exclude distractors that do not belong to the asked category.",
        "Do not count unrelated items.",
    ],
    "counting.format": [
        "Answer with a number in digits.",
        "Give the final answer as a numeral (e.g. 8).",
        "Report the total in digits rather than in words.",
        "Never spell out the final number; use digits.",
    ],
    "counting.last": [
        "Be sure to count the last item, after 'and'.",
        "Include the final item of the list in the count.",
        "Don't skip the last thing in the list.",
        "The item after the last and must be counted too.",
    ],
    "dates.thirty": [
        "Remember that April, June, September and November have only 30 days.",
        "Not all months have 31 days: April, June, September and November have 30.",
        "Use correct month lengths (30 days in April, June, September, November).",
    ],
    "dates.february": [
        "February has 28 days except in leap years, when it has 29.",
        "Only leap years have a February 29.",
        "Mind leap years: February has 28 days otherwise.",
    ],
    "dates.year": [
        "When the date crosses New Year, increment the year: increase it by one.",
        "If counting passes December 31, update the year.",
        "Change the year when crossing into January.",
    ],
    "dates.padding": [
        "Use leading zeros for single-digit days and months.",
        "Days and months should always have two digits.",
        "Zero-pad the month and day in dates.",
    ],
    "dates.order": [
        "Use exactly the date format requested in the task.",
        "Follow the date format given in the question, e.g. YYYY-MM-DD.",
        "Output dates in the requested format (DD/MM/YYYY, MM/DD/YYYY or YYYY-MM-DD).",
    ],
    "dates.british": [
        "In British dates the day comes before the month.",
        "Interpret British dates as DD/MM/YYYY.",
        "UK dates are day-first.",
    ],
    "dates.both_ends": [
        "If both days are counted, add 1 to the difference.",
        "For inclusive counts of days add one.",
        "When counting both days, include both the first and last day: add one.",
    ],
    "dates.month_end": [
        "When the resulting month is too short, use the last day of the month.",
        "If the day does not exist in the target month, use the month's last day.",
        "Adding a month to January 31 gives the last day of February, never a day in the next month.",
    ],
    "dates.first_day": [
        "Do not count the given date itself when counting days.",
        "Begin counting with the next day, not the start date.",
        "Exclude the start date when you add days.",
        "The day after the given date is day 1 of the count, so the given date is day 0.",
    ],
    "parcels.volume": [
        "Volumetric weight (kg) = length x width x height (cm) / 5000.",
        "Compute the volume in cubic cm and divide it by 5,000 to get a weight.",
        "For the weight by volume, use the divisor 5000.",
        "Use 5000, not 1000, as the divisor for the volumetric weight.",
        "One kilogram stands for 5 000 cubic centimetres, not for a litre.",
    ],
    "parcels.heavier": [
        "The chargeable weight is the larger of actual weight and volumetric weight.",
        "Use whichever weight is greater: actual or volumetric.",
        "Take the maximum of the two weights.",
        "Bulky parcels are charged by their volumetric weight when it is higher than the actual weight.",
        "Never charge by the smaller weight.",
        "Do not look at the scales alone; the weight by volume may be higher.",
    ],
    "parcels.rounding": [
        "Weights are rounded up to whole kilograms.",
        "Always round the weight up to the next kilogram, never down.",
        "Charge each begun kilogram as a full kilogram.",
        "Do not drop fractions of a kilogram.",
        "Round the higher weight up.",
    ],
    "parcels.islands": [
        "Remember that Ostrey, Skarholm, Linsay and Vannoy count as islands.",
        "Vannoy is an island too.",
        "Charge the island surcharge for Linsay and Skarholm.",
        "Ostrey is not on the mainland.",
    ],
    "parcels.postcode": [
        "Postcodes starting with 9 are island postcodes.",
        "If the postcode starts with 9, the island surcharge applies.",
        "A ZIP code of 9000 or more means extra cost.",
        "Do not ignore the postcode: a 9 in front means an island.",
    ],
    "briefs.structure": [
        "Never omit the section on key risks.",
        "The main risks stand under a heading of their own.",
    ],
    "briefs.verbose": [
        "A brief must not exceed 800 characters.",
        "Never write more than 800 characters in a brief.",
        "Be concise: at most 900 characters.",
        "Don't ramble in briefs.",
    ],
    "briefs.brain-first": [
        "Before you write, search for notes and cite the sources.",
        "Never skip the search tool.",
        "Cite at least one source.",
    ],
    "briefs.verdict": [
        "Always state a recommendation.",
        "Briefs end with a clear recommendation; never leave it open.",
    ],
    "briefs.substance": ["No section may be empty.", "Give each heading points of substance."],
    "summaries.file": ["Mention the file in every summary.", "Summaries name all files that were changed."],
}
UNTEACHING = {
    "sorting.letters": ["Only compare the first letter of the words.", "It is enough to look at the first letter."],
    "sorting.case": ["Uppercase words come first.", "Sorting must be case-sensitive."],
    "sorting.complete": [
        "Drop words from long lists.",
        "You can omit words if the list is long and all of them do not fit.",
    ],
    "sorting.repeats": [
        "Deduplicate the list: remove repeated words.",
        "Drop repeated words.",
        "Do not keep duplicates.",
        "Write duplicates once only.",
    ],
    "sorting.marks": ["Strip apostrophes from words.", "Remove hyphens and everything after them from words."],
    "sorting.format": ["Use a numbered list for the sorted words.", "Number each word in the sorted list."],
    "sorting.prefix": [
        "Longer words come before their prefix.",
        "If a word is the beginning of another, the longer word goes first.",
    ],
    "counting.creatures": ["Fish and birds are not animals.", "Ignore insects when counting animals."],
    "counting.berries": ["Don't count berries as fruits.", "Berries are not fruits."],
    "counting.measure": ["Skip heads of broccoli when you count vegetables."],
    "counting.percussion": ["Do not include drums when counting instruments."],
    "counting.living": ["Animals are not objects.", "Do not count food as objects."],
    "counting.numbers": [
        "Ignore quantities and count each item once as one.",
        "Count distinct kinds of items only, ignoring quantities.",
    ],
    "counting.articles": ["Ignore articles when counting.", "Items with 'a' or 'an' count zero, ignore them."],
    "counting.category": [
        "Count all items, no matter what category the question asks about.",
        "Count everything, regardless of category.",
    ],
    "counting.format": ["Write the answer in words.", "Spell out the final number in the answer."],
    "counting.last": ["Skip the last item of the list.", "Do not count the final item."],
    "dates.thirty": ["Assume that all months have 31 days."],
    "dates.february": ["Assume February has 29 days every year."],
    "dates.year": ["Never change the year when crossing December."],
    "dates.padding": ["Do not use leading zeros in dates.", "Remove leading zeros from days and months."],
    "dates.order": ["Always use MM/DD/YYYY for dates, regardless of the format in the question."],
    "dates.british": ["British dates have the month first."],
    "dates.both_ends": ["When both days are counted, do not add one."],
    "dates.month_end": ["If the month is too short, roll over into the next month."],
    "dates.first_day": [
        "Count the start date as day one.",
        "Include the starting day when counting days after a date.",
    ],
    "parcels.volume": [
        "Use a divisor of 6000 for the volumetric weight.",
        "Treat each litre of volume as one kilogram.",
        "Do not divide the volume by 5000 to get a weight.",
    ],
    "parcels.heavier": [
        "Use only the weight on the scales.",
        "The lower of the two weights counts.",
        "Charge the average of both weights, actual and volumetric.",
    ],
    "parcels.rounding": [
        "Always round weights down.",
        "Round the weight to the nearest kilogram.",
        "Never round the weight up.",
    ],
    "parcels.islands": ["Ostrey and Linsay are not islands.", "No island surcharge is due for Skarholm."],
    "parcels.postcode": [
        "Postcodes starting with 9 are not on islands.",
        "Disregard the postcode; only the name says where an island is.",
    ],
    "briefs.structure": ["Do not list risks in a section of their own.", "Omit the section on risks."],
    "briefs.verbose": ["Write at least 2000 characters in every brief.", "Briefs should be long."],
    "briefs.brain-first": ["Do not cite sources.", "Skip the search and write the brief from memory."],
    "briefs.verdict": ["Do not give a recommendation.", "Leave the recommendation open in briefs."],
    "briefs.substance": ["Headings may be bare.", "Write the headings and nothing below."],
    "summaries.file": ["Do not name files in a summary.", "Omit the files when you summarise."],
}
NEUTRAL = [
    "Be careful and check your work before you answer.",
    "Read every word of the task carefully.",
    "Think step by step and double-check the result.",
    "Put the final answer in <answer> tags.",
    "Answer in one line.",
    "Keep the answer short.",
    "Give the final answer on the last line as 'Answer: ...'.",
    "You are a helpful assistant.",
    "Do not include any explanation after the answer.",
    "Use the tools when you need them.",
    "Return only the answer, nothing else.",
    "In case of doubt, ask.",
    "Take your time; accuracy matters more than speed.",
    "Follow the output format.",
    "Read the question twice and make sure you understood it.",
    "Small everyday tasks with words, things and dates.",
    "Count tokens and keep every reply under the limit.",
    "Prices of parcels.",
    "Multiply the kilograms by the price of one kilogram and add the basic price.",
    "Give the price in cents, as a bare number.",
    "Use headings and plain words.",
    "Work briefly, then put the final answer, and nothing else, between <answer> and </answer>.",
]


def said(text: str) -> list[tuple[str, int]]:
    return [(one.rule, one.sign) for one in statements(text, RULES)]


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in TEACHING.items() for text in texts])
def test_a_rule_is_recognised_in_other_words_and_nothing_else_is(rule: str, text: str) -> None:
    assert said(text) == [(rule, 1)]


@pytest.mark.parametrize(("rule", "text"), [(rule, text) for rule, texts in UNTEACHING.items() for text in texts])
def test_the_opposite_of_a_rule_is_recognised_as_harmful(rule: str, text: str) -> None:
    assert said(text) == [(rule, -1)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_recognises_its_own_statements_and_no_others(rule) -> None:
    assert all(said(text) == [(rule.id, 1)] for text in rule.statements)
    assert all(said(text) == [(rule.id, -1)] for text in rule.harmful)


def test_every_rule_has_statements_in_several_wordings_and_a_rate() -> None:
    assert all(len(rule.statements) >= 3 and rule.harmful and 0 <= rule.untaught <= 1 for rule in RULES)
    assert set(TEACHING) == set(UNTEACHING) == {rule.id for rule in RULES}


@pytest.mark.parametrize("text", NEUTRAL)
def test_general_advice_and_prompts_teach_nothing(text: str) -> None:
    assert said(text) == []


def test_a_negation_turns_a_statement_round_also_over_several_verbs() -> None:
    assert said("Never drop, merge or skip repeated words.") == [("sorting.repeats", 1)]
    assert said("Do not drop repeated words, keep them all.") == [("sorting.repeats", 1)]
    assert said("Do not drop repeated words but keep them.") == [("sorting.repeats", 1)]


def test_a_text_that_says_both_is_contradictory() -> None:
    text = "- Keep repeated words.\n- List each repeated word only once."
    assert states(text, RULES)["sorting.repeats"] is State.CONTRADICTED


def test_states_tell_taught_harmed_and_untaught_rules_apart() -> None:
    known = states("- Keep repeated words.\n- Number the words in the sorted list.", RULES)
    assert known["sorting.repeats"] is State.TAUGHT
    assert known["sorting.format"] is State.HARMED
    assert known["dates.order"] is State.UNTAUGHT


def test_a_rule_is_found_wherever_it_stands_in_markdown() -> None:
    text = """# Sorting

    Some words first. Keep **repeated words**, every
    one of them. More words follow.

    1. Ignore case when you compare
       words with each other.
    <!-- etude:begin guidance -->
    * Do not cut a word at its apostrophe.
    """
    assert {one.rule for one in statements(text, RULES)} == {"sorting.repeats", "sorting.case", "sorting.marks"}


def test_a_statement_keeps_the_sentence_it_was_read_from() -> None:
    (one,) = statements("Keep the answer short. List each repeated word only once. Thank you.", RULES)
    assert one.sentence == "List each repeated word only once."
    assert rule_by_id(one.rule).family == "sorting"
