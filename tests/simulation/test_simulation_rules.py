"""Recognising what an instruction text teaches."""

from etude.simulation.families import RULES
from etude.simulation.rules import Teaching, statements, states

WORDINGS = {
    # rule: (another way to teach it, another way to teach the opposite)
    "sorting.letters": (
        "If two words start with the same letter, look at the second letter to decide, and so on.",
        "It is enough to look at the first letter.",
    ),
    "sorting.case": (
        "Sorting is case-insensitive: Apple and apple compare as the same.",
        "Sorting must be case-sensitive.",
    ),
    "sorting.complete": (
        "Verify that all words from the input appear in the output.",
        "You can omit words if the list is long and all of them do not fit.",
    ),
    "sorting.repeats": ("Preserve duplicate words; do not deduplicate.", "Write duplicates once only."),
    "sorting.marks": (
        "Keep hyphens and apostrophes in the words.",
        "Remove hyphens and everything after them from words.",
    ),
    "sorting.format": (
        "Output the sorted words separated by single spaces on one line.",
        "Number each word in the sorted list.",
    ),
    "sorting.prefix": (
        "If one word is a prefix of another, the shorter word goes first.",
        "If a word is the beginning of another, the longer word goes first.",
    ),
    "counting.creatures": (
        "Remember that birds, fish and insects count as animals.",
        "Ignore insects when counting animals.",
    ),
    "counting.berries": ("Strawberries, grapes and other berries are fruits too.", "Berries are not fruits."),
    "counting.measure": (
        "Count a head of broccoli or a stalk of celery as one vegetable.",
        "Skip heads of broccoli when you count vegetables.",
    ),
    "counting.percussion": (
        "Drums, pianos and accordions are musical instruments.",
        "Do not include drums when counting instruments.",
    ),
    "counting.living": (
        "For questions about objects, count everything, including animals and fruits.",
        "Do not count food as objects.",
    ),
    "counting.numbers": (
        "When an item has a number word (two, three), add that quantity.",
        "Count distinct kinds of items only, ignoring quantities.",
    ),
    "counting.articles": ("Treat 'a' and 'an' as one.", "Items with 'a' or 'an' count zero, ignore them."),
    "counting.category": (
        "Only count items belonging to the category asked about.",
        "Count everything, regardless of category.",
    ),
    "counting.format": ("Answer with a number in digits.", "Spell out the final number in the answer."),
    "counting.last": ("Be sure to count the last item, after 'and'.", "Do not count the final item."),
    "dates.thirty": (
        "Remember that April, June, September and November have only 30 days.",
        "Assume that all months have 31 days.",
    ),
    "dates.february": (
        "February has 28 days except in leap years, when it has 29.",
        "Assume February has 29 days every year.",
    ),
    "dates.year": (
        "When the date crosses New Year, increment the year: increase it by one.",
        "Never change the year when crossing December.",
    ),
    "dates.padding": (
        "Use leading zeros for single-digit days and months.",
        "Remove leading zeros from days and months.",
    ),
    "dates.order": (
        "Use exactly the date format requested in the task.",
        "Always use MM/DD/YYYY for dates, regardless of the format in the question.",
    ),
    "dates.british": ("In British dates the day comes before the month.", "British dates have the month first."),
    "dates.both_ends": (
        "If both days are counted, add 1 to the difference.",
        "When both days are counted, do not add one.",
    ),
    "dates.month_end": (
        "When the resulting month is too short, use the last day of the month.",
        "If the month is too short, roll over into the next month.",
    ),
    "dates.first_day": (
        "Do not count the given date itself when counting days.",
        "Include the starting day when counting days after a date.",
    ),
    "briefs.structure": ("Never omit the section on key risks.", "Omit the section on risks."),
    "briefs.verbose": ("A brief must not exceed 800 characters.", "Briefs should be long."),
    "briefs.brain-first": (
        "Before you write, search for notes and cite the sources.",
        "Skip the search and write the brief from memory.",
    ),
    "briefs.verdict": ("Always state a recommendation.", "Leave the recommendation open in briefs."),
    "briefs.substance": ("No section may be empty.", "Write the headings and nothing below."),
    "summaries.file": ("Mention the file in every summary.", "Omit the files when you summarise."),
}
NEUTRAL = (
    "Read every word of the task carefully.",
    "Give the final answer on the last line as 'Answer: ...'.",
    "Use headings and plain words.",
)


def said(text: str) -> list[tuple[str, int]]:
    return [(one.rule, one.sign) for one in statements(text, RULES)]


def test_a_rule_and_its_opposite_are_recognised_in_other_words_and_nothing_else_is() -> None:
    found = {rule: tuple(said(text) for text in texts) for rule, texts in WORDINGS.items()}
    assert found == {rule.id: ([(rule.id, 1)], [(rule.id, -1)]) for rule in RULES}


def test_every_rule_recognises_its_own_statements_and_no_others() -> None:
    for rule in RULES:
        assert [said(text) for text in rule.statements] == [[(rule.id, 1)]] * len(rule.statements)
        assert [said(text) for text in rule.harmful] == [[(rule.id, -1)]] * len(rule.harmful)
        assert len(rule.statements) >= 3


def test_general_advice_and_prompts_teach_nothing() -> None:
    assert [said(text) for text in NEUTRAL] == [[]] * len(NEUTRAL)


def test_a_negation_turns_a_statement_round_also_over_several_verbs() -> None:
    assert said("Never drop, merge or skip repeated words.") == [("sorting.repeats", 1)]
    assert said("Do not drop repeated words, keep them all.") == [("sorting.repeats", 1)]
    assert said("Do not drop repeated words but keep them.") == [("sorting.repeats", 1)]


def test_a_text_that_says_both_is_contradictory() -> None:
    text = "- Keep repeated words.\n- List each repeated word only once."
    assert states(text, RULES)["sorting.repeats"] is Teaching.CONTRADICTED


def test_states_tell_taught_harmed_and_untaught_rules_apart() -> None:
    known = states("- Keep repeated words.\n- Number the words in the sorted list.", RULES)
    assert known["sorting.repeats"] is Teaching.TAUGHT
    assert known["sorting.format"] is Teaching.HARMED
    assert known["dates.order"] is Teaching.UNTAUGHT


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
    assert one.rule == "sorting.repeats"
