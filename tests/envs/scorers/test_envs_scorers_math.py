import asyncio

import pytest

from etude.envs.scorers.math import Math, MathOptions, same_result
from etude.errors import DataError
from etude.records import Task, Trajectory
from etude.testing.scorer import ScorerContract
from rows import rows


class TestMath(ScorerContract):
    def make_scorer(self) -> Math:
        return Math()

    def make_other_scorer(self) -> Math:
        return Math(MathOptions(rel_tol=0.01))

    def right(self) -> list[tuple[Task, str]]:
        return [(Task(id="t", input="q", gold=[r"\boxed{2}", "two"]), answer) for answer in (r"\boxed{2.0}", "two")]

    def wrong(self) -> list[tuple[Task, str]]:
        return [(Task(id="t", input="q", gold=r"\boxed{2}"), "3")]


def score(gold: str, answer: str) -> float:
    return asyncio.run(Math().score(Task(id="t", input="q", gold=gold), Trajectory(answer=answer))).hard


SAME = [
    (r"so $\boxed{\frac{1}{2}}$.", r"First \boxed{3}, then \boxed{\dfrac12}"),
    (r"\boxed{\frac{1}{2}}", "Some work.\nThe answer is 1/2."),
    (r"\boxed{0.5}", r"\boxed{\frac{1}{2}}"),
    (r"\boxed{1,234}", "1234"),
    (r"\boxed{\text{Evelyn}}", "Evelyn"),
    ("12", r"\boxed{12\text{ cm}}"),
    ("12", r"$12\,\mathrm{m/s^2}$"),
    ("12", "12 square meters"),
    ("12", "12 m"),
    ("12", r"12\text{ apples}"),
    (r"\sqrt{3}", r"\sqrt{3}\text{ cm}"),
    (r"12\text{ cm}^2", "12 cm^2"),
    (r"\frac{3}{2}", r"1\frac{1}{2}"),
    ("1.5", "1\u00bd"),
    ("x^2+1", "x^{2} + 1"),
    ("x^{10}", "x^10"),
    ("a_{1}", "a_1"),
    ("42", "**42**"),
    ("42", r"\mathbf{42}"),
    ("42", "So x = 42"),
    ("42", "Thus the area is $42$."),
    ("42", r"6 \cdot 7 = 42"),
    ("42", "**Final answer:** `42`"),
    ("1{,}000", "1000"),
    ("1,000,000", "10^6"),
    ("1 000", r"1\,000"),
    (r"\{1,2\}", r"\left\{2, 1\right\}"),
    (r"\{\frac12, 3\}", r"\{3, 0.5\}"),
    (r"\{(1,2),(3,4)\}", r"\{(3,4),(1,2)\}"),
    ("(1, 0.5)", r"\left(1,\tfrac12\right)"),
    ("3, 5", r"$\boxed{3}$ and $\boxed{5}$"),
    ("3, 5", "x = 3 or x = 5"),
    ("1024", "2^{10}"),
    (r"x \le 5", r"x \leq 5"),
    (r"x \ge 5", "x >= 5"),
    (r"x \ne 5", "x \u2260 5"),
    (r"-\frac{\pi}{2}", "-\u03c0/2"),
    (r"-\frac{\pi}{2}", r"\frac{-\pi}{2}"),
    (r"\sqrt{2}", "\u221a2"),
    (r"(-\infty, 5]", "(-\u221e,5]"),
    (r"90^\circ", "90 degrees"),
    (r"50\%", "50"),
    ("y=2x+1", "2x+1"),
    ("-5", "\u22125"),
    ("Yes", "The answer is yes."),
    ("x=(1,2)", "(1,2)"),
    (r"S = \{1,2\}", r"\{2,1\}"),
    (r"x\in(1,2)", "(1,2)"),
    (r"(x,y)=(1,2)", "(1,2)"),
    ("M = (0, 1]", "(0,1]"),
    (r"\$5", r"5\text{ dollars}"),
    (r"\$5", "5"),
    (r"\$5", r"\$5\text{ per hour}"),
    (r"50\%", r"50\text{ percent}"),
    (r"90^\circ", r"90\text{ degrees}"),
    (r"5^\circ", r"5^\circ\text{C}"),
    ("12 hours", r"12\text{ hour}"),
    (r"12\text{ times}", "12"),
    (r"12\text{ million}", "12000000"),
    (r"(-\infty,2]\cup[3,\infty)", "(-\u221e, 2] \u222a [3, \u221e)"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
    (r"\emptyset", "\u2205"),
    (r"\emptyset", r"\varnothing"),
    ("|x|", r"\left|x\right|"),
    ("|x|", r"\lvert x \rvert"),
    (r"5\pi", r"5\text{ pi}"),
    ("42", "*42*"),
    ("42", "The answer is therefore: 42"),
    ("42", "$42$ is the answer."),
    (r"\{\}", r"\emptyset"),
    (r"\frac{\sqrt{3}}{2}", r"\sqrt{3}/2"),
    (r"\frac{1}{2}", r"{1\over 2}"),
    (r"2\sqrt{3}", r"2 \cdot \sqrt{3}"),
    (r"2\sqrt{3}", "2*sqrt(3)"),
    ("(x+1)(x-1)", r"(x+1)\times(x-1)"),
    ("x^2", "x**2"),
    ("x^2", "x\u00b2"),
    ("x_1", "x\u2081"),
    (r"\frac{x+1}{2}", "(x+1)/2"),
    (r"\frac{1}{x+1}", "1/(x+1)"),
    (r"\infty", r"+\infty"),
    (r"\ln 2", "ln 2"),
    (r"\sin x", "sin x"),
    (r"\pm 2", "\u00b12"),
    (r"2\pi", "2\u03c0"),
    (r"\pi r^2", "\u03c0r\u00b2"),
    (r"\alpha+\beta", "\u03b1+\u03b2"),
    (r"\cos\theta", "cos \u03b8"),
    (r"\Delta", "\u0394"),
    ("xy", r"x \cdot y"),
    (r"\frac{a+b}{c+d}", "(a+b)/(c+d)"),
    ("(+5,-3)", "(5,-3)"),
    ("x_{12}", "x\u2081\u2082"),
    (".5", "0.5"),
    ("(.5, 1)", "(0.5, 1)"),
    (r"\begin{pmatrix} -1/3 \\ 2/3 \end{pmatrix}", r"\begin{bmatrix} -\frac{1}{3} \\ \frac{2}{3} \end{bmatrix}"),
    (r"\frac{\pi}{6}", r"\frac{1}{6}\pi"),
    (r"\frac{2\pi}{3}", r"\frac{2}{3}\pi"),
    (r"\frac{5}{2}x", "5x/2"),
    (r"\frac{\sqrt{3}}{2}", r"\frac{1}{2}\sqrt{3}"),
    (r"x^{\frac{1}{2}}", "x^{1/2}"),
    (r"36\pi", r"36\pi \text{ cm}^2"),
    (r"\tan x", r"\tan(x)"),
    ("120", "5! = 120"),
    ("16", r"\boxed{\approx 16}"),
    ("3.14", r"\pi \approx 3.14"),
    ("42", "Thus, the value of $x$ is $42$."),
    ("42", "The sum of the first 10 terms is 42."),
    ("42", "The answer to question 5 is 42"),
    (r"\frac12", r"So the probability that 2 of 3 are red is $\frac{1}{2}$."),
    ("42", "The number of roots of $x^2 = 4$ is $\\mathbf{42}$."),
    ("42", "Final Answer: The final answer is $42$. I hope it is correct."),
    ("42", "\u7b54\u6848\uff1a42"),
    ("42", "\u7b54\u6848\u662f $42$\u3002"),
    ("42", "\u041e\u0442\u0432\u0435\u0442: 42"),
    ("42", "Die Antwort ist 42."),
    ("42", "La respuesta es 42."),
    ("42", "R\u00e9ponse : 42"),
    ("42", "\u2234 x = 42"),
    ("42", r"\therefore x = 42"),
    ("42", "f(2) = 42"),
    (r"\mathbb{R}", r"\mathbb R"),
    (r"\mathbb{R}\setminus\{0\}", r"\mathbb{R} \backslash \{0\}"),
    (r"\mathbb{R}", "\u211d"),
    (r"\binom{5}{2}", r"\dbinom{5}{2}"),
    (r"\binom{5}{2}", r"{5 \choose 2}"),
    (r"\log_2(3)", r"\log_2 3"),
    (r"\log_{10} 5", r"\log_{10}{5}"),
    (r"\begin{pmatrix} \frac12 \\ 3 \end{pmatrix}", r"\begin{pmatrix} 1/2 \\ 3 \end{pmatrix}"),
    (r"\frac{x^2}{2}", "x^2/2"),
    (r"\frac{1}{2}x^2", r"\frac{x^2}{2}"),
    (r"\frac{1}{x^2}", "1/x^2"),
    (r"1-\frac{1}{e}", "1 - 1/e"),
]


@rows(("gold", "answer"), SAME)
def test_what_is_meant_is_compared_in_both_directions(gold: str, answer: str) -> None:
    assert score(gold, answer) == 1
    assert score(answer, gold) == 1


OTHER = [
    (r"\boxed{\frac{1}{2}}", r"\boxed{\frac{1}{3}}"),
    (r"\boxed{(1,2)}", r"\boxed{12}"),
    ("x=4", "x=42"),
    ("x=5", "y=5"),
    ("5", "-5"),
    ("2^{10}", "210"),
    ("2^3", "23"),
    ("25", "5^2 x"),
    ("12", "1 2"),
    ("12", "1, 2"),
    ("1234", "1, 234"),
    ("1.5", "15"),
    ("1,5", "15"),
    (r"1\frac12", r"\frac{11}{2}"),
    (r"\frac12", "2"),
    (r"\frac{1}{2}x", r"\frac{1}{2x}"),
    ("x^23", "x^{2}3"),
    ("(1,2)", r"\{1,2\}"),
    ("(1,2)", "(2,1)"),
    ("(1,2)", "[1,2]"),
    ("(1,2]", "(1,2)"),
    ("((1,2),3)", "(1,(2,3))"),
    (r"\{1,2\}", r"\{1,3\}"),
    (r"\{1,2\}", r"\{1,2,2\}"),
    (r"\{1\}", "1"),
    ("12 cm", "12 m"),
    (r"12\text{ cm}^3", r"12\text{ cm}^2"),
    ("12", "12x"),
    ("12", "12m"),
    ("12", r"12\text{ million}"),
    ("12", r"12\text{ or }13"),
    ("5", r"5\text{ base }7"),
    ("5", "5_{7}"),
    ("5", "5i"),
    ("3", r"3\pi"),
    ("3", r"\sqrt{3}"),
    (r"\pm 2", "2"),
    ("x^2", "x^2 m"),
    (r"x \le 5", "x < 5"),
    (r"\Delta", r"\delta"),
    ("5", "x > 5"),
    ("5", "x = 5 or x = 6"),
    ("6", "5 or 6"),
    ("5", "it is not 5"),
    ("York", "New York"),
    ("5", "Room 5"),
    (r"50\%", "0.5"),
    ("5 ms", "5 m"),
    ("5 m/s", "5 m"),
    (r"\$5", "5 cents"),
    (r"\$5", "\u20ac5"),
    (r"50\%", "50 degrees"),
    ("5", r"5\text{ squared}"),
    ("5", r"5\text{ factorial}"),
    ("5", r"5\text{ pi}"),
    ("5", r"5\text{ below zero}"),
    ("5", r"5\text{ degrees below zero}"),
    ("5", r"5\text{ times as many}"),
    ("5", r"5\text{ times larger}"),
    ("5", r"5\text{ dozens}"),
    ("5", r"5\text{ tenths}"),
    ("x=(1,2)", "y=(1,2)"),
    ("x=(1,2)", "[1,2]"),
    ("(x,y)=(1,2)", "(y,x)=(1,2)"),
    ("x=1, y=2", "1"),
    ("42", "6*42"),
    ("42", "4 is the answer"),
    (r"\{0\}", r"\emptyset"),
    (r"\sqrt{3}", r"\sqrt{3}/2"),
    (r"\frac{x+1}{2}", "x+1/2"),
    ("x^2", "x_2"),
    ("2*3", "23"),
    ("6", "2*3"),
    (r"3 \times 4", "34"),
    ("x+5", "x5"),
    (r"\frac{a}{b}+c", "a/(b+c)"),
    (r"\pm 3", "+3"),
    (r"\Delta", "\u03b4"),
    (r"\sin x", r"\cos x"),
    ("5.5", r"\boxed{5\cdot\frac{1}{2}}"),
    (r"\frac{11}{2}", r"5\times\dfrac12"),
    (r"\frac{11}{4}", r"2*\frac{3}{4}"),
    (r"3\frac{1}{2}", r"3\times{1\over2}"),
    ("5000", r"5*\text{thousand}"),
    ("5e5", "5*e5"),
    ("5e-5", "5*e - 5"),
    ("5000", "5*x 10^3"),
    ("|x|5", "|x|+5"),
    (".5", "5"),
    ("-.5", "5"),
    (r"\frac{2}{3}\pi", r"\frac{2}{3\pi}"),
    (r"\frac{1}{2}x^2", r"\left(\frac{x}{2}\right)^2"),
    ("3/4x", r"\frac{3}{4x}"),
    (r"\sin(x)y", r"\sin xy"),
    ("1/2/3", r"\frac{1}{2}/3x"),
    (r"\begin{vmatrix}1\\2\end{vmatrix}", r"\begin{pmatrix}1\\2\end{pmatrix}"),
    ("5!", "5"),
    (r"x\text{ cm}", "x"),
    ("\u03ac", "\u03ad"),
    ("42", "The value of $x$ is not $42$."),
    ("42", "$x$ is less than $42$"),
    ("42", "The sum of 10 terms is at least 42."),
    ("42", "The answer to question 42 is unknown"),
    ("42", "5 is 42 less than 47"),
    ("42", "The first 42 are red"),
    ("42", "It is unclear whether $x$ is $42$ or $43$."),
    ("42", "\u7b54\u6848\u4e0d\u662f42"),
    ("42", "Die Antwort ist nicht 42."),
    ("f(2) = 42", "f(3) = 42"),
    (r"\mathbb{R}", r"\mathbb{Z}"),
    (r"\mathbb{R}", "r"),
    (r"\binom{5}{2}", r"\binom{2}{5}"),
    (r"\log_2 3", r"\log_3 2"),
    (r"\sin(x)^2", r"\sin x^2"),
    (r"\log_2(3)x", r"\log_2 3x"),
    ("x^2/2", "x^{2/2}"),
    ("x^2/y", r"\left(\frac{x}{y}\right)^2"),
    ("1/2^3", r"\frac{1}{2}^3"),
    ("5/3!", r"\frac{5}{3}!"),
    ("1/xy", r"\frac{1}{x}y"),
    (r"\begin{pmatrix} 1/2 \\ 3 \end{pmatrix}", r"\begin{pmatrix} 1/3 \\ 3 \end{pmatrix}"),
]


@rows(("gold", "answer"), OTHER)
def test_another_value_is_wrong_in_both_directions(gold: str, answer: str) -> None:
    assert score(gold, answer) == 0
    assert score(answer, gold) == 0


@rows("odd", ["1 ", r"\text{", "{", "answer ", "so is ", r"\boxed{", r"\frac", "cm ", r"\text{cm}", " "])
def test_the_time_to_compare_grows_with_the_length_only(odd: str) -> None:
    # Ends within moments, or, should something be quadratic, not for many minutes.
    assert score("5", odd * 60_000 + "!") == 0


def test_an_unfinished_brace_is_read_to_the_end_and_a_long_answer_is_read_fast() -> None:
    assert score(r"\boxed{\frac{1}{2}}", r"\boxed{\frac{1}{2}") == 1
    assert not same_result("\\text{" * 5000, "{" * 50_000)


def test_an_answer_without_a_result_is_wrong_and_a_gold_an_error() -> None:
    assert score(r"\boxed{5}", "") == score(r"\boxed{5}", r"\boxed{}") == 0
    with pytest.raises(DataError, match="no result"):
        Math().compare(Task(id="t", input="q", gold=r"\boxed{}"), "1")
