import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from etude.envs.scorers.choice import Choice, ChoiceOptions, read_label, read_options
from etude.errors import DataError
from etude.records import Task
from etude.testing.scorer import ScorerContract
from rows import rows

QUESTION = "What is the date?\nOptions:\n(A) 12/11/1937\n(B) 12/25/1937\n(C) New York\n"
LISTED = {"A": "12/11/1937", "B": "12/25/1937", "C": "New York"}


def task(gold: object, text: str = QUESTION) -> Task:
    return Task(id="t", input=text, gold=gold)


class TestChoice(ScorerContract):
    def make_scorer(self) -> Choice:
        return Choice()

    def make_other_scorer(self) -> Choice:
        return Choice(ChoiceOptions(labels="AB"))

    def right(self) -> list[tuple[Task, str]]:
        return [
            (task("(B)"), "B"),
            (task("b"), "The answer is (B)."),
            (task("new york"), "C"),
            (task(["A", "B"]), "a"),
        ]

    def wrong(self) -> list[tuple[Task, str]]:
        return [(task("B"), "A"), (task("B"), "I do not know"), (task("B"), "(A) or (B)?"), (task("B"), "D")]


@rows(
    "answer",
    [
        "B",
        "(B)",
        "**B**",
        "$\\boxed{B}$",
        "\\text{B}",
        "Let me think.\n\nB",
        "**Answer:** (B)",
        "Answer:\nB",
        "The correct answer is option B, as A is too early.",
        "B) 12/25/1937",
        "Some thoughts.\n**B. 12/25/1937**",
        "12/25/1937",
        "It is 12/25/1937, of course.",
        "So I choose B here",
        "Clearly (B) fits.",
        "Option B fits",
    ],
)
def test_an_answer_can_name_its_choice_in_many_ways(answer: str) -> None:
    assert read_label(answer, LISTED, "ABC") == "B"


COLOURS = {"A": "red", "B": "green", "C": "light blue", "D": "blue"}


@rows(
    "answer",
    [
        r"The answer is $\boxed{\textbf{B}}$.",
        r"\boxed{\text{green}}",
        r"\boxed{B) green}, as A is a trap",
        "Answer \u2192 B",
        "Answer -> (B)",
        "Answer = B",
        "B is correct.",
        "Option B (green) is the right one",
        "A is wrong and B is correct",
        "The correct option is B",
        "The answer to question 5 is clearly B.",
        "A looks nice, C is dark. Final answer: B",
        "I thought the answer is A, but the answer is B.",
        "I'm not sure, but the answer is B",
        "Between A and C, I'd go with B.",
        "I'd say B.",
        "My guess is B",
        "So it's B.",
        "\uff22",
        "\uff08\uff22\uff09green",
        "\u24b7",
        "B\u200b",
        "b) green",
        "option b",
        "answer: b",
        '**Answer:** "B"',
        "B) green\n\nWhy not the others: answer A is a trap and answer C is too dark.",
        "B) green. (A) and (C) are too dark.",
        "Answer: B\n\nA is wrong, and C, too.",
        "The answer is B, not A or C",
        "A) too dark\nB) fits\nC) no\n\nSo the answer is B",
        "Option A: no\nOption B: yes\n\nI choose option B.",
        "Green.",
        "It is green, of course.",
        "Answer: green",
        r"First \boxed{red}, then \boxed{green}",
        r"\boxed{A}. Correction: the answer is B.",
        "The answer is A. Wait, let me look again. The answer is B",
        "If we look again, the answer is B.",
        "I assume B is correct.",
        "If A is correct, then it is dark. It is not. So the answer is B.",
        "Suppose the answer is A. Then it is red. That fails. The answer is B.",
        "B) green\n\nIf it had been dark, A would be correct.",
        "The right choice would be B, if I am not mistaken.",
        "B is correct, but A is wrong",
        "The answer is B but not A",
        "The answer is B. A is also wrong.",
        "The best answer is B, though A is also plausible.",
        "Option B is the only one that does not fail",
        "B. Green is not too dark.",
        "Answer: B\nB",
        "Answer: B (green), not C (light blue)",
        "Ans: B",
        "Correct: B",
        "Antwort: B",
        "Die richtige Antwort ist B.",
        "La r\u00e9ponse est B",
        "\u7b54\u6848\uff1aB",
        "I'm choosing B",
        "B, because A is too warm",
        "\u7b54\u6848\u662fB",
        "\u6240\u4ee5\u6b63\u786e\u7b54\u6848\u662f B\u3002",
        "\u6211\u9009\u62e9B",
        "\u6545\u9009\uff1aB",
        "\u9009\u9879B\u6b63\u786e",
        "\u6b63\u89e3\u306fB\u3067\u3059",
        "\uc815\ub2f5\uc740 B\uc785\ub2c8\ub2e4",
        "\u041e\u0442\u0432\u0435\u0442: B",
        "La respuesta correcta es B",
        "La risposta corretta \u00e8 B",
        "It must be B.",
        "<b>B</b>",
        "{'answer': 'B'}",
        "It's not A. B.",
        "B is the only correct option.",
        "B it is",
        "Definitely B",
        "B, I think",
        "Only B fits.",
        "B (90%)",
        "1. B",
        "B (not C)",
        "not A but B",
        "B instead of option A",
        "The correct answer is not A but B.",
        "The answer's B",
        "The answer is B; A, C and D are wrong.",
        "B\nA is wrong",
        "b\n\nBecause it is green",
        "(B) green is my final answer",
        "I went with B",
        "B is my final answer",
        "B (final answer)",
        "B\n\nExplanation: A is too dark.",
        "Eliminate A, C and D. B remains.",
        "Only B is left",
        "It can only be B",
        "If I had to choose: B",
        "If I have to guess, B",
        "If I had to choose, I'd say B",
        "Only option B remains",
        "It can only be B, as A is dark",
        "The answer is B (A, C and D are wrong).",
        "Answer \u21d2 B",
        "\u2705 B",
        "\U0001f151",
        "\U0001f131",
        "\u202aB\u202c",
        "\u00abB\u00bb",
        r"\boxed{\mathrm{B}}",
        "# Answer\n\nB",
        "Not A, not C, so B.",
        "L\u00f6sung: B",
        "Die Antwort lautet B",
        "\u9078B",
        "\u7b54\u3048\u306fB\u3067\u3059",
        "Verdict: B",
        "Output: B",
        "A is too dark.\n\nConclusion: **B**",
        "Antwoord: B",
        "\u0110\u00e1p \u00e1n: B",
        "Label: (B)",
        "La bonne r\u00e9ponse est la B.",
        "La respuesta correcta es la opci\u00f3n B.",
        "A resposta correta \u00e9 a letra B.",
        "I think it's B because A is dark",
        "Of all, B seems to be the most plausible.",
        "B is the most likely",
        "It is green, not red.",
        "It is green rather than light blue",
        "Unlike red, green fits.",
        "Perhaps B",
        "It is green.\nConfidence: A",
        "Green\nGrade: A",
        "Green\nFinal grade: A",
        "It is neither.\nFinal: B",
        "It is neither.\nMy prediction: (B)",
        "It is neither.\nFazit: B",
        "Wrong: A\nGreen",
        "Maybe B.",
        # in other languages
        "Antwort B ist richtig.",
        "Richtig ist B.",
        "B est juste.",
        "B es correcta",
        "Het juiste antwoord is B.",
        "R\u00e4tt svar \u00e4r B.",
        "Det rigtige svar er B.",
        "Poprawna odpowied\u017a to B.",
        "Spr\u00e1vn\u00e1 odpov\u011b\u010f je B.",
        "Oikea vastaus on B.",
        "R\u0103spunsul corect este B.",
        "\u0391\u03c0\u03ac\u03bd\u03c4\u03b7\u03c3\u03b7: B",
        "Jawaban yang benar adalah B.",
        "\u0110\u00e1p \u00e1n \u0111\u00fang l\u00e0 B.",
        "\u0627\u0644\u0625\u062c\u0627\u0628\u0629 \u0627\u0644\u0635\u062d\u064a\u062d\u0629 \u0647\u064a B.",
        "\u0e04\u0e33\u0e15\u0e2d\u0e1a\u0e04\u0e37\u0e2d B",
        "\u0938\u0939\u0940 \u0909\u0924\u094d\u0924\u0930 B \u0939\u0948\u0964",
        "Do\u011fru cevap B",
        "\u3010\u89e3\u6790\u3011A\u592a\u6697\u3002\n\u3010\u7b54\u6848\u3011B",
        "\u7b54\u6848\u5e94\u4e3aB",
        "B\u9879\u6b63\u786e",
        "B\u9009\u9879\u662f\u6b63\u786e\u7684\u3002",
        "Ans. B",
        "Ans) B",
        "A, C and D can be ruled out, leaving B.",
        # others choose, and other questions, have other answers
        "It is green. A common mistake is to choose A.",
        "The answer is B. Many people would say A because it is warm.",
        "Answer: B\n\nMany students pick A.",
        "B. You might mistakenly choose A.",
        "The answer is B. If you meant the warmest, it would be A.",
        "B. (If the question asked for the warmest, the answer would be (A).)",
        "In this case you would choose B.",
        "Most of them fit, so I choose B",
        "Answer: B\n\nIn the picture, A is right of C, and angle C is right.",
        "Most students went with A, but the correct one is B.",
        "A alternativa correta \u00e9 a letra B.",
        "B est\u00e1 correta",
        "B es la correcta",
        "B \u2013 green\u662f\u6b63\u786e\u7684",
        "\u6b63\u89e3\u306fgreen\u3067\u3059",
        "\uc815\ub2f5\uc740 green\uc785\ub2c8\ub2e4",
        "Cevap: B, not C",
        "Vastaus: only B",
        "\u7b54\u6848\u662fB\uff0c\u4e0d\u662fC",
        "I considered A and C. (B)",
        "A, C and D can be ruled out, leaving B. Hope this helps!",
        "La respuesta es B?",
        *(
            f"{word} B"
            for word in (
                "Ich w\u00e4hle",
                "Je choisis",
                "Elijo",
                "Scelgo",
                "Jag v\u00e4ljer",
                "\u0412\u044b\u0431\u0438\u0440\u0430\u044e",
            )
        ),
        "B\u304c\u6b63\u89e3\u3067\u3059",
        "B\uac00 \uc815\ub2f5\uc785\ub2c8\ub2e4",
        "By elimination, B.",
        "Antwort: B statt C.",
        "Answer: B, unlike A.",
        "Answer: B over C",
        "B\n\nA is the warmest, C is light, D has no light.",
        "I vote for B",
        "B est la bonne r\u00e9ponse.",
        "B ist die richtige Antwort.",
        "Правильный вариант — B",
        "คำตอบที่ถูกต้องคือ B",
        "- A: incorrect\n- B: correct\n- C: incorrect",
        # the text of an option is read as its label is
        "Red is wrong, so green.",
        "I considered red and blue. It is green.",
        "I considered A and C. Answer: green",
        "The answer is green. Not red, not blue.",
        "The sky is blue. So the answer is green.",
        "First, the sky. B) green. (A) and (C) are too dark.",
        "A) no\nB) fits\n\nSelected: B",
        # where one is asked for that is not true, it is the answer and others are called right
        "A is true\nB is false\nC is true\nAnswer: B",
        "Answer: B\n\nA is correct, C is correct, D is correct; B is wrong.",
        "(A) is right. (C) is right. (D) is right. Answer: (B)",
        "The answer is B. Both A and C are right.",
        # what is said of other options behind the label
        "B\n\nWhy: red is a warm colour.",
        "B\n\nRed is for stop, light blue comes from above.",
        "B\nBlue lies at the other end.",
        "B because A lies at the other end",
        "B since A has more warmth and C is too light",
        "The answer is B. Note: C would be right for a cold lamp.",
        "Answer: B\n(In fog, D would be the answer for drivers.)",
        "final answer B",
        "Answer: A was my first choice; final answer B.",
        # a denial ends where another clause begins
        "C is wrong since B is right",
        "A isn't correct because B is correct",
        "A and C are wrong while B is right",
        "There is no doubt that the answer is B",
        "Without a doubt the answer is B",
        "It is not hard to see that the answer is B",
        "The answer is none other than B",
        "After eliminating the others the answer is B",
        "Since it is not A or C the answer must be B",
        "Having ruled out D we conclude that the correct answer is B",
        "Eliminating A, C and D leaves B.",
        # the next sentence is about others
        "The answer is B. A and C are for other lights.",
        "So B.\nA, C and D come later.",
        "**Answer: B**\n\nOptions A and D mean something else.",
        # the text of an option is said to be the answer, after lines about others
        "A) Red is the colour of stop.\nB fits.\nIt is green.",
        "(C) is tempting. Thus green is the answer.",
    ],
)
def test_a_label_or_an_option_is_found_in_common_forms(answer: str) -> None:
    assert read_label(answer, COLOURS, "ABCD") == "B"


def test_a_longer_option_is_not_the_shorter_one_within_it() -> None:
    assert read_label("It is light blue", COLOURS, "ABCD") == "C"
    assert read_label("It is blue", COLOURS, "ABCD") == "D"


@rows(
    "answer",
    [
        # two
        "A or B",
        "A/B",
        "A and B",
        "A & B",
        "A, B, C, D",
        "A. B. C. D.",
        "A B C D",
        "A? Or B",
        "A (or B)",
        "A\nB",
        "Answer: A or B",
        "Answer: A/B",
        "Answer: A, B",
        "Answer: AB",
        "The answer is A or maybe C",
        "Answer: A, but it could be B",
        "Answer: A or answer: B",
        "either A or C",
        "Both A and B are correct",
        "A and C is correct",
        "Neither A nor B is correct",
        r"\boxed{A or B}",
        r"$\boxed{A}$ or $\boxed{B}$",
        "A) red or B) green",
        "A) red\nB) green",
        "Option A: too dark\nOption B: fits",
        "(A)(B)",
        "red or green",
        "red or B",
        "B) red",
        "Answer: A. green",
        "Answer: B (red)",
        "Answer: B\nC",
        "Answer: B\nAnswer: C",
        "Answer: B (green), C (light blue)",
        "B is correct. C is also correct.",
        "B is correct. C is correct.",
        "B is correct; C is, too.",
        "B is correct, as is C.",
        "The answer is B. The answer is also C.",
        r"\boxed{A}, \boxed{B}",
        r"\boxed{A} \boxed{B}",
        "Answer: B (or C)",
        "Answer: B [or C]",
        "Answer: B \u2013 or C",
        "Answer: B plus C",
        "Answer: B, alternatively C",
        "Answer: B ou C",
        "Answer: B y C",
        "B (C)",
        "B(C).",
        r"\boxed{B (C)}",
        "blue (C)",
        "red: option B",
        "B > C",
        "B first, C second",
        "\u7b54\u6848\u662fB\u6216C",
        "\u9009 B \u6216\u8005 C",
        "\u7b54\u6848\u662fB\u3001C",
        "\u6b63\u89e3\u306fB\u304bC",
        "\uc815\ub2f5\uc740 B \ub610\ub294 C",
        "<b>B</b> or <b>C</b>",
        "A and/or B",
        "(A) red (B) green",
        "It can only be A or B",
        "If I had to choose, A or B",
        "\u24b6 or \u24b7",
        "The first line.\n\nB\n\nThe last one.",
        "Only B is left out",
        "A|B",
        "B to D",
        "A\u2013C",
        "A: 90%, B: 10%",
        "I can't decide between A and B",
        "Answer: A, B and C are wrong",
        # denied, or no label
        "The first author went with C.",
        "Most students went with A.",
        "I went with A, but B fits better.",
        "A was my answer, but B fits better",
        "As they say, C is king",
        "Everything but A remains",
        "All but C remains.",
        "Vitamin C remains.",
        "X can only be C if D",
        "The answer can only be C if D",
        "If I have to choose B, I fail.",
        "A\n\nThinking again, B fits better.",
        "A\n\nNo wait. It is something else.",
        "A\n\nIt is red or blue.",
        "A\nlot of them",
        "ANSWER: A lot of them look right, I cannot tell.",
        "A lot of them",
        "Choose a colour",
        "The answer is a colour",
        "The answer is not A",
        "It isn't (A).",
        "I would not choose A",
        "Option A is wrong",
        "I don't think the answer is A",
        "not sure whether A is correct",
        "Is A correct?",
        "The wrong answer is A",
        "It is not green.",
        r"\boxed{B} is wrong",
        r"\boxed{green} is wrong",
        "green is wrong",
        "I looked at green; green is wrong",
        "green cannot be it",
        "Option B can be ruled out.",
        "Option B was eliminated.",
        "Option B: wrong",
        "Option B is tempting but wrong.",
        "Option B, though tempting, is wrong.",
        "Option B looks good but it fails",
        "B) green is wrong",
        "Option B might be right",
        "Option B is only partly correct",
        "I was tempted to choose B",
        "We can discard option C.",
        "The answer is B unless it is dark",
        "Is the answer B?",
        "Is B right",
        "I am not sure B",
        "B will not fit",
        "B is the only one not correct",
        "neither B",
        "It must not be B",
        "\u7b54\u6848\u4e0d\u662fB",
        "\u4e0d\u9009B",
        "\u9009\u9879B\u662f\u9519\u7684",
        "\u7b54\u6848\u662fB\u5417\uff1f",
        "La respuesta no es B",
        # supposed, with what follows from it
        "Assuming B is correct, red would fit.",
        "Suppose B is correct. Then it is dark.",
        "Suppose B is correct. Then the answer to both is C.",
        "If the answer is B, then red would fit; but I cannot tell.",
        "If B were correct, then C is correct",
        "What if B is correct?",
        "Let's say B is correct. Then red fits.",
        "If (B) holds, then (A) fails",
        "Imagine it is green. Then it fits.",
        "B would be correct if the sky were green",
        # taken back
        "The answer is B... no wait, C",
        "The answer is B. No, C.",
        "The answer is B. Sorry, I mean C",
        "The answer is B. On second thought, I cannot tell.",
        "A. Actually, B.",
        "B) green. Or, wait, C.",
        "Best: B\nSecond: C",
        "red and green are wrong",
        "not red and green",
        "It is not red or green",
        # in other languages
        "B ist nicht richtig",
        "Nicht richtig ist B.",
        "B og C er riktig",
        "B\u6b63\u786e\u7387\u4f4e",
        "B is just a trap, as many know",
        "B est juste, C aussi",
        "B est juste et C est juste",
        "Richtig sind B und C",
        "Het antwoord is niet B.",
        "Svaret \u00e4r inte B.",
        "Jawabannya bukan B.",
        "Cevap B de\u011fil.",
        "\u0909\u0924\u094d\u0924\u0930 B \u0928\u0939\u0940\u0902 \u0939\u0948",
        "\u7b54\u6848\u5e94\u8be5\u4e0d\u662fB",
        "\u4e0d\u5e94\u9009B",
        "B\u9879\u4e0d\u6b63\u786e",
        "B\u6b63\u786e\u5417\uff1f",
        "\u6b63\u89e3\u306fB\u3067\u306f\u306a\u3044",
        "\uc815\ub2f5\uc740 B\uac00 \uc544\ub2d9\ub2c8\ub2e4",
        "\u041e\u0442\u0432\u0435\u0442: B \u0438 C",
        "\u041e\u0442\u0432\u0435\u0442: B \u0438\u043b\u0438 C",
        "Resposta: B e C",
        "Svar: B och C",
        "Antwoord: B of C",
        "Odpowied\u017a: B lub C",
        "The answer to B is missing",
        "Some students would choose B",
        "Ruling out A, leaving B or C",
        "If you asked for the warmest, the answer would be B",
        "B is right above it",
        "Angle B is right",
        "B, with C as an alternative",
        # joined by a word of any language
        *(
            f"Answer: B {word} C"
            for word in ("nebo", "tai", "sau", "ho\u1eb7c", "\u03ae", "\u0623\u0648", "\u092f\u093e", "edo")
        ),
        *(
            f"B {word} C is correct"
            for word in ("ou", "o", "of", "eller", "lub", "atau", "veya", "\u0438\u043b\u0438", "vs")
        ),
        *(f"{two} est correcte" for two in ("B - C", "B, maybe C", "B | C", "B\u548cC", "B as well as C")),
        "B (or C) is correct",
        "Answer: B (red), I hope",
        "So it is A.\n\nB",
        "Wrong: A",
        "B (light blue) is correct",
        "\u6b63\u89e3\u306fB, C\u3067\u3059",
        "B\n\nC is better",
        "Answer: B, red",
        "Answer: red (B)",
        "Answer: A? B?",
        "It is unlikely that B is correct",
        "Look at each option:\n\nA) red - a colour\nB) green - another one\nC) light blue\nD) blue - dark",
        "> Is the answer B?",
        "Thus, B (light blue)",
        "Verdict: B) light blue",
        "First, the sky. B) red",
        "B\n\nlight blue fits better",
        "First, the sky. B) green. Or, wait, C.",
        "not (A) and (B)",
        "(A) and (B) are wrong",
        "I looked at (B); (B) is wrong",
        "I looked at green, but green is wrong",
        "- Is B right",
        "Answer: B if it is light",
        "B when it is light, else C",
        "Answer: A? No.",
        "It is not true that the answer is B",
        "I do not think the correct answer is B",
        "This doesn't mean that the answer is B",
        "It does not follow that the answer is B",
        "We can't conclude that the answer is B",
        "It is wrong to say the answer is B",
        "I doubt that the answer is B",
        "The tempting answer is B",
        "A is correct. C is correct.",
        "Answer: B. A and C are right, too.",
        "Answer: B. C and D are also possible.",
        "B\n\nBlue suits.",
        "The answer is A. Sorry, I meant B.",
        r"\boxed{A B C D}",
        r"\boxed{Is the answer B?}",
    ],
)
def test_an_answer_that_could_mean_two_or_denies_supposes_or_takes_back_a_label_chooses_none(answer: str) -> None:
    assert read_label(answer, COLOURS, "ABCD") is None


def test_no_before_another_word_is_not_the_option_no() -> None:
    listed = {"A": "Yes", "B": "No"}
    assert {read_label(said, listed, "AB") for said in ("No", "No.", "No, it is not.", "The answer is no!")} == {"B"}
    assert {read_label(said, listed, "AB") for said in ("No idea", "There is no way to tell.")} == {None}


NUMBERS = {"A": "5", "B": "1", "C": "2"}


@rows(
    "answer",
    [
        *(
            "0.5",
            ".5",
            "-5",
            "$-5$",
            "x = - 5",
            "minus 5",
            "1/5",
            "1 / 5",
            "5.2",
            "5,000",
            "5 000",
            "5 1/2",
            "5^2",
            "2-5",
        ),
        *("3 + 5", "1:5", r"\frac{1}{5}", r"\boxed{-5}", r"\boxed{\frac{1}{5}}"),
    ],
)
def test_a_number_within_another_one_is_no_option(answer: str) -> None:
    assert read_label(answer, NUMBERS, "ABC") is None


@rows(
    "answer",
    ["5", "2 + 3 = 5", "1 * 5 = 5", "x = $5$", "It is 5.", "5, of course", "**5** apples", r"\boxed{5}", "Answer:5"],
)
def test_a_number_by_itself_is_an_option(answer: str) -> None:
    assert read_label(answer, NUMBERS, "ABC") == "A"


def test_formulas_are_options_whatever_signs_are_around_them() -> None:
    listed = {"A": r"$\frac{1}{15}$", "B": r"$\frac{11}{5}$", "C": r"$2\pi$"}
    assert read_label(r"So it is $\frac{11}{5}$.", listed, "ABC") == "B"
    assert read_label(r"\boxed{\frac{1}{15}}", listed, "ABC") == "A"
    assert read_label(r"We get $2\pi$", listed, "ABC") == "C"
    assert read_label("{1, 2}", {"A": r"\{1, 2\}", "B": "1, 2"}, "AB") is None


def test_the_text_of_an_option_may_begin_with_a_label() -> None:
    listed = {"A": "C++", "B": "Rust", "C": "Java", "D": "C#"}
    said = {"The answer is C++": "A", "C++": "A", "It is C# for sure": "D", "C#": "D", "The answer is C.": "C"}
    assert {answer: read_label(answer, listed, "ABCD") for answer in said} == said


def test_the_text_of_an_option_may_look_like_a_denial() -> None:
    assert read_label("(B) -5", {"A": "5", "B": "-5"}, "AB") == "B"
    assert read_label("Answer: B. Cannot be told", {"A": "red", "B": "Cannot be told"}, "AB") == "B"
    assert read_label("Answer: B. False", {}, "AB") == "B"


def test_i_and_a_are_words_before_they_are_labels() -> None:
    assert read_label("**Answer: A** The others are for other lights.", COLOURS, "ABCD") == "A"
    assert read_label("A it is.", COLOURS, "ABCD") == "A"
    assert read_label("\u7b54\u3048\u306fA\u3067\u3059", COLOURS, "ABCD") == "A"
    assert read_label("Answer: I cannot tell", {}, "ABCDEFGHI") is None
    assert read_label("Answer: I", {}, "ABCDEFGHI") == "I"


@rows("answer", ["", "I think a dog", "both (A) and (B)", "New Yorker", "Z"])
def test_an_answer_without_a_clear_choice_has_none(answer: str) -> None:
    assert read_label(answer, LISTED, "ABC") is None


@rows(
    ("text", "options"),
    [
        ("Q?\n(A) x\n(B) y z", {"A": "x", "B": "y z"}),
        ("A. foo\nB. bar", {"A": "foo", "B": "bar"}),
        ("[A] foo\n [B] bar", {"A": "foo", "B": "bar"}),
        ("Q? (A) x (B) y z", {"A": "x", "B": "y z"}),
        ("(B) x\n(C) y", {}),
        ("A. Smith wrote this.", {}),
        ("Which?\na) red\nb) green", {"A": "red", "B": "green"}),
        ("Which?\n(a) red\n(b) green", {"A": "red", "B": "green"}),
        ("Which?\n- A. red\n- B. green", {"A": "red", "B": "green"}),
        ("Which?\n**A.** red\n**B)** green", {"A": "red", "B": "green"}),
        ("Which?\nOption A: red\nOption B: green", {"A": "red", "B": "green"}),
        # other lines that begin with a letter
        ("Q: What stops?\nA) red\nB) green\nC) blue", {"A": "red", "B": "green", "C": "blue"}),
        ("I. red\nII. blue\nA. I only\nB. II only", {"A": "I only", "B": "II only"}),
        ("E. coli is\n(A) red\n(B) green", {"A": "red", "B": "green"}),
        ("P: it is wet\nH: it rains\nA) yes\nB) no", {"A": "yes", "B": "no"}),
        ("f: R to R\nA. red\nx: one more line\nB. green", {"A": "red", "B": "green"}),
        ("Q: 1?\nA) red\nB) green\nA: B\nQ: 2?\nA) one\nB) two", {"A": "one", "B": "two"}),
        ("Is it? (A) yes (B) no\nA: Let us think.", {"A": "yes", "B": "no"}),
        ("A: Hello!\nQ: Who speaks?\nA) Ann\nB) Ben", {"A": "Ann", "B": "Ben"}),
        ("\u54ea\u4e2a\uff1f\nA\u3001red\nB\uff09green", {"A": "red", "B": "green"}),
    ],
)
def test_options_are_read_from_the_task(text: str, options: dict) -> None:
    assert read_options(text) == options


def test_labels_come_from_the_options_else_from_the_settings_else_all_letters() -> None:
    assert Choice().compare(task("F", "no list"), "F").hard == 1
    with pytest.raises(DataError, match="task 't': gold 'F' is neither a label out of ABC nor a listed option"):
        Choice().compare(task("F"), "F")
    with pytest.raises(DataError, match="is neither a label out of ABCD"):
        Choice(ChoiceOptions(labels="abcd")).compare(task("F", "no list"), "F")


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ABCab()[]{}.:* \nanswer$\\", max_size=80))
def test_what_is_read_is_always_a_label(text: str) -> None:
    assert read_label(text, LISTED, "ABC") in {"A", "B", "C", None}


@rows(
    "odd",
    [
        "*_",
        " ",
        "boxed{",
        "(",
        "(A) ",
        "answer ",
        "answer is ",
        "A is ",
        "not ",
        "A\n",
        "so ",
        "if A is ",
        "\n",
        "a: \n",
    ],
)
def test_the_time_to_read_an_answer_grows_with_its_length_only(odd: str) -> None:
    # Ends within moments, or, should a repetition be unbounded again, not for many minutes.
    assert read_label("answer" + odd * 15_000 + "?", LISTED, "BC") is None
    assert read_options("(A)" + odd * 15_000) == {}


def test_an_answer_that_repeats_the_task_chooses_nothing_until_it_says_more() -> None:
    task = Task(id="t", input="Which is a fruit?\n\n(A) stone\n(B) mud\n(C) apple", gold="C")
    scorer = Choice()
    assert scorer.compare(task, task.input).hard == 0
    assert scorer.compare(task, "(A) stone\n(B) mud\n(C) apple").hard == 0
    assert scorer.compare(task, f"{task.input}\n(C) apple").hard == 1
    assert scorer.compare(task, f"{task.input}\nC").hard == 1
