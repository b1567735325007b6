"""Whether a rule is plain English, which is what all lists of words are made for.

A wish in another language, or one that is spelled in a way that no list expects, is not understood here; so a rule
that is not plainly English waits for a person, whatever it says.
"""

import re
import unicodedata

__all__ = ["strange"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KNOWN = _words(
    """
    about across after again against all alone along already also although always am an and another any anything
    are around as at away back be because been before begin begins being below best between beyond both but by
    can cannot could did do does done down during each either else end ends enough even ever every everything
    except few first following for from further get gets give gives given go goes had half has have having he
    her here his how however i if in inside instead into is it its itself just keep keeps kept last later least
    less let like made make makes many may me might mine more most much must my near neither never new next no
    none nor not nothing now of off often on once one only or other others otherwise our out outside over own
    per perhaps please quite rather same see seen several shall she should since small so some something soon
    still such than that the their them then there these they thing things this those though through to together
    too toward towards twice two three four five six seven eight nine ten under unless until up upon us use used
    uses using very was we were what whatever when whenever where whether which while who whole whom whose why
    will with within without would yes yet you your

    abbreviation accent according accurate acronym active add added adding adjective adjust admit adverb
    algorithm align alignment alphabetic alphabetical alphabetically alternative american amount annotate
    annotation answer apologize apology apostrophe appear appearance apply april argument article ask assertion
    assumption attribute audience august author average avoid background backtick bad bar base beginning behind
    belong better bigger blank block bold boolean bottom boundary bracket branch branchless break brief british
    bullet bulleted calculate calculation call camel capital capitalise capitalised capitalize caption case
    category cause cell celsius cent centimetre change chapter character chart check citation cite cites claim
    class clause clear clearly clock close code colon column come comma commit common compare comparison
    complete complexity composition concise conclude conclusion condition confidence confident consistent
    constant contain contraction convention convert cost count country cover csv currency customer cut dash data
    dataclass date day decade december decide decimal default define definition degree denominator describe
    description detail diagram dictionary difference digit divide docstring dollar double draw duplicate early
    edge edit effect element eleven emoji emojis emphasis empty english entry enum equal error estimate euro
    everyday evidence exact exactly example exception exclamation exclusive exist expect explain explicit
    express expression extra fact feature february field fifth fifty figure file filler final find finding
    finish fit fixture flat float follow footnote form formal format formula forty fourth fraction french friday
    full fully function general german glossary good gram grammar graph greater greeting group grouped guess
    handle head header heading headline hedge height high higher hint hour html hundred hyphen hypothesis idea
    identifier immutable imperative import important improve include inclusive indent indentation index
    inheritance input integer interface interval introduction irrelevant island iso italic item iterate
    iteration january jargon join json july june justify kebab keyboard keyword kilogram kilometer kilometre
    kind know label language large larger largest layout lead leading leap left length letter level library
    limit line list liter litre log long longer longest loop low lower lowercase main major march margin mark
    markdown match mathematics mean meaning measure medium mention message metaphor meter method metre metric
    migration million minimal minor minus minute missing mistake module monday money month multiply mutable name
    narrow negative nest nested neutral newest ninety note noun november null number numbered numeral object
    occur occurrence october offer old oldest omit open operand operator opinion option optional order original
    outline output overview pad padding page pair paragraph parameter parameterize parcel parentheses
    parenthesis part parts pascal passive past path percent percentage period phrase place plain plural plus
    point polite positive preamble precise precision prefer prefix present print problem procedure product prose
    public punctuation purpose put python quantity quarter query question quotation quote quoted raise range
    rank rate ratio raw read reader readers reading real reason recommend recommendation record recursion refer
    reference regular release relevant repeat reply request require response result return review right
    rightmost risk round row sample saturday say says scale scenario schema search second section semicolon
    sentence sentence-case separate separator september set short shorter shortest show shown sign signature
    simple single singular sixty size smaller smallest snake sort sorted source space speak special specific
    spell spelling split sql stand standard start state statement status stay step story string structure style
    subject suffix suggest sum summarise summarize summary sunday support sure surname symbol tab table take
    technical tell temperature term test tests text thin third thirty thousand thursday tie time title
    title-case tone top topic total tradeoff trailing translation trim true try tuesday twelve twenty type
    typing uncertain unchanged unclear underscore unit units unrelated upper uppercase user utc vague value
    variable verb verdict version vertical voice volume want wednesday week weight wherever whichever wide width
    word words work worse wrap write writes written wrong yaml year zero zone
    """
)
"""Words of which a rule on style consists, without endings: a sample of the language rather than a dictionary."""
_ELSEWHERE = _words(
    """
    a admit also am an all are article at be code can data date do dose element emoji fact fit for format
    general get had has he her his i idea in index is item label me mine minute module no normal note number of
    on once or order original page phrase plural point print question second section set simple so source sort
    standard string style symbol table text title to total type under us use version verb want was we week will
    wrap
    """
)
"""Those of them that are words of other languages as well, and show nothing by themselves."""
_FOREIGN = (
    _words(
        """
    aber alle allem allen aller alles auch auf aus bei bis das dass dem den der des deine dein dich dir du ein
    eine einem einen einer er es frag gib ihm ihr immer ist jede jedem jeden jeder jedes kein keine keinen mach
    mit nach nicht nichts nie niemals nimm nur oder sag schreibe sein sich sie und vom von vor vorher wenn wie
    zu zum zur

    au aux avant avec ce ces chaque dans dit elle est et fais il ils je jamais la le les leur lui mais ne nous
    ou par pas pour puis que qui quoi rien sa sans ses si sur tes toi ton tous tout toute toutes tu un une vos
    votre vous

    al algo antes con cada como cuando de del donde e el ella ellos en esta este las lo los mi mis muy nada ni
    nunca para pero por sin sobre su sus tambien todas todo todos tus una uno usted y ya

    agli ai alla anche che chi ci cosa dai dal dalla degli dei della delle di dopo fai gli loro ma nel nella
    nelle nessun niente non nulla ogni per prima questa questo quando sempre senza solo sono sui sul sulla tua
    tutta tutte tutti tutto

    aos ao as com da depois ele em entre essa esse isso na nas nem nos num numa os pela pelo qualquer quem sem
    seu sua tudo um uma umas uns voce

    aan bij dan dat deze een eerst elke geen gebruiker haar het hij hun ieder iedere jouw maak maar meer moet
    naar niet niets nooit om ons ook op te tot uit van veel voor wat welke worden zeg zij zonder

    aldri att aldrig av bara blir denne det din eller ett etter fra och og i icke ikke ingen inte ja jeg kan man
    med mig noe pa pre sei som til till uten utan var varje ved

    ale bez by byl co dla do jak jako jest jeho jen jsou kazda kazdy ktere ktory nebo nic nikdy nigdy o od po
    pod przed se sou tak ten to tylko tym ve vse vsech vsechny w wszystkich wszystkie wszystko z za ze

    ama bir biz bu butun daha degil gibi hep her hic icin ile kadar ki sen siz sonra tum veya yok

    adalah akan atau bagi dalam dari dengan ini itu jangan kamu ke oleh pada saya semua setiap sudah tanpa tidak
    untuk yang

    cac cho cua duoc khong moi nhung nay nguoi tat va voi
    """
    )
    - _KNOWN
)
_QUOTED = re.compile(r"`+[^`\n]{1,60}`+|\"[^\"\n]{1,60}\"|“[^”\n]{1,60}”")
_NAME_WORDS = 3
"""A name in code or quotation marks has at most so many words; more of them are a sentence."""
_SENTENCE = re.compile(r"[.!?:;]\s+(?=[A-Z*_\"'`(])|\n")
_WORD = re.compile(r"[A-Za-z][\w'’/-]*")
_ENDING = re.compile(r"(?:'s|’s|s['’]|es|s|ed|d|ing|ly)\Z")
_ONE_IN = 4
"""In each sentence at most one word of so many is not a known one."""
_NOT_ENGLISH = "is not plain English"
_SYMBOLS = "µ°€£¥§"
_BORROWED = re.compile(
    r"\b(?:caf[é]s?|na[ï]ve(?:ly)?|fa[ç]ades?|r[é]sum[é]s?|clich[é]s?|d[é]tails?)\b", re.IGNORECASE
)


def strange(text: str) -> tuple[str, str] | None:
    """Why a rule is not plain English, and the first place that shows it; None where all of it is. Names in code or
    quotation marks are not asked to be English words, but to be spelled with its letters."""
    place = next((char for char in _BORROWED.sub("", text) if _is_foreign(char)), None)
    if place is not None:
        return _NOT_ENGLISH, place
    for sentence in _SENTENCE.split(_QUOTED.sub(_unless_name, text)):
        words = [word for word in _WORD.findall(sentence) if _is_word(word)]
        foreign = next((word for word in words if word.lower() in _FOREIGN), None)
        if foreign is not None:
            return _NOT_ENGLISH, foreign
        known = {word.lower() for word in words if _is_known(word.lower())}
        unknown = [word for word in words if word.lower() not in known]
        if len(unknown) * _ONE_IN > len(words):
            return "has many words that no list of words of style has", ", ".join(unknown)
        if words and known <= _ELSEWHERE:
            return _NOT_ENGLISH, sentence.strip()
    return None


def _unless_name(quoted: re.Match[str]) -> str:
    return " " if len(quoted[0].split()) <= _NAME_WORDS else quoted[0]


def _is_foreign(char: str) -> bool:
    """Whether English does without this letter: it has those of ASCII, and single Greek ones in formulas."""
    return char not in _SYMBOLS and not char.isascii() and unicodedata.category(char)[0] in "LM"


def _is_word(word: str) -> bool:
    """And not a name from code, or an abbreviation."""
    return len(word) > 1 and "_" not in word and "/" not in word and (word.islower() or word.istitle())


def _is_known(word: str) -> bool:
    stem = _ENDING.sub("", word)
    return any(form in _KNOWN for form in (word, stem, f"{stem}e", f"{stem[:-1]}y", *stem.split("-", 1)[:1]))
