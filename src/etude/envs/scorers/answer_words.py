"""Words that scorers look for in answers, in the languages that models answer in."""

import re
from collections.abc import Iterator
from unicodedata import normalize

_ROWS = """
en | answer ans solution result | is are equals | correct right true | and plus | or | also too likewise | not | to
de | antwort lösung ergebnis | ist lautet | richtig korrekt | und | oder | auch | nicht | bis
fr | réponse reponse résultat | est | juste correcte | et | ou | aussi | pas | à jusqu'à
es | respuesta resultado | es está | correcta correcto | y e | o u | también | no | a hasta
it | risposta risultato | è | corretta giusta | e ed | o oppure | anche | non | a fino
pt | resposta | é está | correta certa | e | ou | também | não | a até
nl | antwoord | is | juist | en | of | ook | niet | tot
sv | svar svaret | är | rätt riktigt riktig | och | eller | också | inte | till
da nb | svar svaret | er | rigtigt rigtig riktig | og | eller | også | ikke | til
cs | odpověď | je | správně správná | a | nebo | také | není ne | až
pl | odpowiedź | jest (?<=ź_)to | poprawna prawidłowa | i oraz | lub albo | też także | nie | do
fi | vastaus | (?<=vastaus_)on | oikein | ja | tai | myös | ei | -
ro | răspuns răspunsul | este | corect corectă | și | sau | - | nu | până_la
id | jawaban jawabannya | adalah | benar tepat | dan | atau | juga | bukan tidak | sampai
vi | đáp_án | là | đúng | và | hoặc | cũng | không | đến
tr | cevap yanıt | - | doğru | ve ile | veya | - | değil | -
ru | ответ | это | верно верен | и | или | также тоже | не | до
el | απάντηση | είναι | σωστή σωστό | και | ή | επίσης | δεν όχι | έως μέχρι
ar | الإجابة | هي هو | صحيحة الصحيحة | و | أو | أيضا | ليس ليست | إلى
hi | उत्तर | - | सही | और | या | भी | नहीं | से
th | คำตอบที่ถูกต้อง คำตอบ | คือ | ถูก | และ | หรือ | ด้วย | ไม่ | ถึง
zh | 答案 选项 選項 | 是 为 為 应为 應為 应该是 應該是 | 正确 正確 | 和 与 與 及 、 | 或者 或 | 也 | 不是 不 | 到 至
ja | 正解 答え | は | 正しい | と | または か | も | ない | から
ko | 정답 답 | 은 (?<!또)는 | 맞 | 와 과 | 또는 | 도 | 아니 | 에서 부터
"""
"""A row for each language, a column for each kind of word: what an answer is called, what it is, that it is right,
what joins two answers or takes one back, and what stands between the ends of a range. `-` is none, `_` a blank. What
stands behind `(?<=` or `(?<!` must, or must not, come before a word."""


_NO_BLANKS = re.compile("[\u0900-\u1dff\u2e80-\uffff]")
"""Letters of Thai, Chinese and other scripts, of which words stand side by side or begin and end with marks."""


def any_of(words: str) -> str:
    """A pattern for one of some words: whole ones, but in scripts that have no blanks between them."""
    found = dict.fromkeys(f"{words} {normalize('NFKC', words)}".replace("_", r"\s").split())
    whole = "|".join(word for word in found if not _NO_BLANKS.search(word))
    parts = "|".join(filter(_NO_BLANKS.search, found))
    return rf"(?:\b(?:{whole})\b|{parts or '(?!)'})"


def _columns() -> Iterator[str]:
    for cells in zip(*(row.split("|")[1:] for row in _ROWS.strip().splitlines()), strict=True):
        yield any_of(" ".join(cell for cell in cells if cell.strip() != "-"))


ANSWER, IS, RIGHT, AND, OR, ALSO, NOT, TO = _columns()
