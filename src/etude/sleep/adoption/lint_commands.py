"""Signs that a rule would have an agent run, fetch, send or destroy something, and that it names hosts and files."""

from etude.sleep.adoption.lint_signs import Sign, sign
from etude.sleep.adoption.lint_words import (
    ACTIONS,
    ALWAYS,
    CHECKING,
    FILE_ENDINGS,
    LANGUAGES,
    PROGRAMS,
    RUN,
    SCRIPT_ENDINGS,
    STOPPING,
    TOOLS,
    TOP_LEVELS,
    WORDS,
)

__all__ = ["LOADED", "MENTIONS", "SIGNS"]

# ASCII only, since scripts without spaces put a name between their letters.
_BEGIN = r"(?<![A-Za-z0-9_.-])"
_END = r"(?![A-Za-z0-9_-]|\.[A-Za-z0-9_])"
_FLAG = r"--?[A-Za-z\d][\w-]*"
_FILE = rf"[\w-]+(?:\.[\w-]+)*\.(?:{SCRIPT_ENDINGS}|{FILE_ENDINGS})"
_ARGUMENT = (
    rf"[\"'`]?(?:{_FLAG}|[~$*]\S|\./|\.\.|\.(?=\s+\S)|{_FILE}{_END}|(?!and/or\b)[A-Za-z.~$/{{][^\s|<>]*[/=@\\][^\s|<>]"
    r"|/[A-Za-z])"
)
_KNOWN = rf"(?:{PROGRAMS}|{TOOLS}|{LANGUAGES})"
_NOUN = (
    r"(?:messages?|hash(?:es)?|histor(?:y|ies)|subjects?|titles?|names?|tags?|logs?|versions?|trailers?|bod(?:y|ies)"
    r"|files?|scripts?|steps?|hooks?|references?|numbers?|templates?|guidelines?|conventions?)"
)
_GAP = (
    r"(?:[\s:,\"'`(–—-]+(?:in|terminal|console|installer|at|the|an?|this|that|following|commands?|scripts?|programs?|files?|tool|binary|executable|first|then"
    r"|always|also|once|again|it|called|named|our|your|my|its|project['’]s|shell|now|like|as|simply|just|please|zuerst"
    r"|das|den|die|le|la|les|el|il|de|het)(?![\w/.-])){0,6}[\s:,\"'`(–—-]*"
)
_OF_LANGUAGE = (
    r"(?!\s+(?:code|tests?|\d|versions?|examples?|scripts?|snippets?|programs?|in|on|with|first|natively)\b)"
)
_CLAUSE_END = r"(?=[`\"']?\s*(?:$|[.,;:)!]|\b(?:before|after|first|then|and|when|for|in|on|with|as)\b))"
_DEEDS = (
    r"(?:^[ \t>*+().\d-]*|[,;:.]\s+|\b(?:then|first|always|and|also|please|must|should|immediately|finally|to)\s+)"
)
# What has a harmless program do something else: other places, other commands, what a flag says.
_CHECKS = (
    rf"[`\"']?{CHECKING}(?![\w-]|\.\w|/)"
    r"(?![^\n]{0,200}?(?:\||&&|\$\(|[<>]|\s(?:-p|-c|-delete|-exec\w*|--(?:rootdir|output|exec|eval|config)\b|~|/|\.\./)))"
)

_TLD = rf"(?:{TOP_LEVELS}){_END}(?!\()"
_LABELS = r"(?:(?<![\w@/.-])|(?<=//))(?!(?:log|logger|logging|console)\.info\b)(?:[a-z0-9][a-z0-9-]*\.)+"
_SITE = rf"{_LABELS}(?:(?!{FILE_ENDINGS}[/:])[a-z]{{2,24}}(?::\d+)?/[\w~%?#-]|{_TLD})"
_NUMBERS = r"(?<![\w.])(?:localhost:\d|(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d))"
_ADDRESS = rf"(?:[a-z][a-z0-9+.-]{{0,20}}://\S|www\.\w|{_SITE}|{_NUMBERS})"


def _command(pattern: str, *, harmless: str = _CHECKS) -> Sign:
    what = "names a command that changes, fetches or runs something"
    return sign("command", what, pattern, bars=True, harmless=harmless)


def _mention(pattern: str) -> Sign:
    return sign("command", "names a program", pattern)


SIGNS = (
    _command(
        rf"{_BEGIN}(?:{ALWAYS}{_END}|rm\s+(?!(?:is|are|or|and|does)\b)[\w~/.*$-][^\s`\"']*|dd\s+(?:if|of)=|ssh\s+\S{{1,60}}@"
        r"|eval\s*[(\"'$]|exec\s*\(|base64\s+(?:-d|--decode|-D)\b|nc\s+-\w|:\(\)\s*\{|/dev/(?:tcp|sd\w))",
        harmless="",
    ),
    sign("command", "holds what a program may run as it reads it", r"(?<!`)!`"),
    sign("path", "names what a program may read in its place", r"(?<![\w.])@[\w~./{\"'-]"),
    sign("command", "names a command that ends or takes away something", rf"`\s*(?:{STOPPING})\s*`"),
    _command(rf"{_BEGIN}{_KNOWN}{_END}(?:\s+{_ARGUMENT}|(?:\s+[a-z][\w:-]{{0,30}}){{1,2}}\s+[\"'`]?{_FLAG})"),
    _command(
        rf"(?:^[ \t>*+().\d-]*|`)(?P<it>(?-i:{PROGRAMS}|{TOOLS}|mv|cp|nc|cat|kill|ln|del|tar|unzip){_END}\s+"
        rf"(?!(?:is|are|and|or|comes?|has|have|runs?|needs?|must|should|may|can|does|goes|belongs?)\b|\w+`?\s+{_NOUN}\b)[\w.~/$*-]+)",
    ),
    _command(
        r"(?-i:\b(?:Remove|Get|Set|New|Copy|Move|Start|Stop|Invoke)-[A-Z][A-Za-z]+)|\bcmd(?:\.exe)?\s+/c|\bdel\s+/\w"
        r"|\b(?:export|setx?)\s+[a-z_]+=\S|\b(?:source|call|\.)\s+\./\w|\b[\w-]+\.(?:exe|bat|ps1|cmd|msi|scpt)\b"
        r"|(?:^|\s)\d?>>?\s*(?:~|/\w)|\b(?:start|open|spawn|enter|get)\w*\s+(?:an?\s+)?(?:\w+\s+)?shell\b|\broot\s+rights\b|\bas\s+(?:root|admin\w*)\b",
        harmless="",
    ),
    _command(
        rf"\b(?:us(?:e|ing)|call|typ|enter|try|start|appl|trigger|begin)\w*\s+(?:with\s+)?(?:the\s+)?(?:scripts?|programs?"
        rf"|commands?|file)\s+[`\"']?(?:[\w.~$-]*/)*{_FILE}|\b(?:us(?:e|ing)|call|start|try)\s+[`\"']?(?:[\w.~$-]*/)*"
        r"[\w-]+\.(?:sh|bash|zsh)\b"
    ),
    _command(
        rf"{_BEGIN}{RUN}\s+(?:(?:the|a|any|all|every|each|its|your|our)\s+)?(?!(?:tests?|checks?|lint|format|build|same|first)"
        r"\b)(?:[\w-]+\s+)?(?:scripts?|installers?|binar(?:y|ies)|executables?)(?![\w/]|\s+[\w./]*\.\w)"
        rf"|{_BEGIN}{RUN}\s+(?:whatever|anything|everything|what\b)"
        rf"|{_BEGIN}{RUN}\s+(?:(?:the|any|all)\s+)?(?:code|commands?)\s+(?:in|from|of|on|found|that)\s+(?:you\s+find\s+)?"
        r"(?:(?:the|a|any|in|on|all|web)\s+){0,3}(?:pages?|web|internet|sites?|comments?|e-?mails?|issues?|files?)\b"
        r"|\bcommands?\s+from\s+[^.\n]{0,40}\b(?:run|execute)\b",
    ),
    _command(rf"\boutputs?\s+of\s+[`\"']*(?P<it>(?:{_KNOWN}|env|id|ls|cat|ps){_END})"),
    _command(rf"{_BEGIN}(?:{PROGRAMS}|{TOOLS})\s+{ACTIONS}{_END}(?!`?\s+{_NOUN}\b)"),
    _command(rf"(?:(?<=`)|{_BEGIN})(?-i:go)\s+(?:run|install|get|generate)\s+[\w./]"),
    _command(rf"{_BEGIN}{RUN}{_GAP}(?P<it>{_KNOWN}{_END}){_OF_LANGUAGE}"),
    _command(rf"{_BEGIN}{RUN}{_GAP}(?P<it>{WORDS}{_END})(?=\s+{_ARGUMENT}|{_CLAUSE_END})"),
    _command(rf"{_BEGIN}{RUN}{_GAP}(?P<it>make{_END}\s+\w)"),
    _command(
        rf"{_BEGIN}{RUN}{_GAP}(?P<it>(?:[\w.~$-]*/)*[\w-]+(?:\.[\w-]+)*\.{SCRIPT_ENDINGS}{_END}"
        r"|\.{1,2}/\w|~/|/[A-Za-z]|\$\w|(?:scripts?|bin|tools?|hack)/\w)"
    ),
    _command(rf"{_BEGIN}{RUN}{_GAP}(?<=`)(?P<it>[\w.-]+\s+[^`\n]{{1,80}}`)"),
    _command(rf"(?:`|[|;&]\s?)\$?\s*(?P<it>{WORDS}{_END}\s+{_ARGUMENT})"),
    _command(r"`(?P<it>make\s+\w)"),
    _command(rf"{_BEGIN}(?P<it>{WORDS}{_END}(?:\s+[\w./~*-]{{1,40}})?\s+{_FLAG})"),
    _command(rf"^[ \t>*+().\d-]*(?P<it>(?-i:make)\s+[a-z][\w-]*){_CLAUSE_END}"),
    _command(r"\S\s*\|\s*(?:sudo\s+)?(?:sh|bash|zsh|python\d?|perl|node|ruby|tee|xargs)\b(?!\s*\|)"),
    sign(
        "command",
        "turns a safeguard off",
        r"(?<![\w-])--(?:no-verify|force|no-check\w*|skip-\w+|dangerously[\w-]*|allow-all[\w-]*|yolo|no-sandbox|insecure)"
        r"(?![\w-])",
        bars=True,
    ),
    sign(
        "command",
        "destroys data",
        r"(?-i:\b(?:DROP|TRUNCATE)\s+(?:TABLE|DATABASE|SCHEMA|USER|ROLE|VIEW|INDEX)\b|\bDELETE\s+FROM\b"
        r"|\b(?:GRANT|REVOKE)\s+\w+\s+(?:ON|TO)\b|\bALTER\s+(?:USER|ROLE)\b)"
        r"|\b(?:drop|truncate)\s+(?:table|database|schema)\s+(?:if\s+exists\s+)?\w+(?=\s*(?:[;'\"`.]|$))"
        r"|\bdelete\s+from\s+\w+(?=\s*(?:[;'\"`]|where\b|$))"
        r"|(?-i:\bTRUNCATE\s+\w|\bDROP\s+COLUMN\b)|\bdrop\s+the\s+(?:\w+\s+)?(?:tables?|databases?|schemas?)(?=\s*(?:[.,;]|$))"
        r"|\b(?:drop|truncate|wipe)\s+(?:(?:all|every|the|any)\s+)*(?:tables?|databases?|schemas?)\s+(?:of|in|from)\b",
        bars=True,
    ),
    sign(
        "command",
        "holds a statement of SQL",
        r"(?-i:\bINSERT\s+INTO\b|\bUPDATE\s+\w+\s+SET\b|\bSELECT\s+[^\n]{1,80}?\sFROM\b"
        r"|\b(?:ALTER|CREATE)\s+(?:TABLE|DATABASE|SCHEMA|VIEW|INDEX)\b)|\bselect\s+\*\s+from\b",
    ),
    sign(
        "command",
        "destroys data",
        rf"{_DEEDS}(?P<it>(?:delet|remov|eras|wip|destroy|purg|shred|overwrit|format|kill)\w*\s+(?:(?:all|every|each|any|the"
        r"|these|those|their|your|my|of|users?['’]?s?)\s+){0,3}(?:everything|files?(?!\s+(?!in\b|on\b|of\b|first\b|"
        r"before\b|after\b)\w)|director(?:y|ies)|folders?|databases?|repositor(?:y|ies)|repo|branch(?:es)?|backups?|disks?"
        r"|home|accounts?|process(?:es)?|data(?=\s*(?:[.,;]|$)))(?![\w-])|(?:reboot|shut\s?down|halt)\s+(?:the\s+|this\s+)?(?:machine|computer|server|host|system)\b)",
        bars=True,
    ),
    sign(
        "command",
        "sends something out",
        r"\b(?:post|report|send|e?-?mail|upload|forward|submit|transmit|cop(?:y|ies)|writ|stream|push|sync)\w*\s+"
        rf"(?:[^\s.]{{1,40}}\s+){{0,6}}?to\s+[\"'`(<]*(?:{_ADDRESS}|[a-z][\w.+-]{{0,60}}@[a-z])",
        bars=True,
    ),
    sign(
        "command",
        "sends something out",
        rf"{_DEEDS}(?P<it>(?:send|upload|forward|e-?mail|transmit|post|exfiltrate|leak)\w*\s+(?:(?:all|every|each|any|the"
        r"|these|this|that|your|its|a|of|full|whole|content|contents|user['’]?s?)\s+){0,4}(?:\w+\s+)?(?:files?|code"
        r"|sources?|contents?|data|transcripts?|conversations?|chat|history|logs?|repository|repo|project|documents?|it"
        r"|them|everything)\s+to\s+(?!(?:(?:the|an?|this|that|its|your|our)\s+)?(?:std\w+|users?|logs?|loggers?|queues?"
        r"|clients?|servers?|endpoints?|api|functions?|callers?|methods?|parsers?|callbacks?|workers?|browsers?|front-?end"
        r"|back-?end|handlers?|console|screen|me|us)\b)\w)",
        bars=True,
    ),
    sign(
        "command",
        "publishes something",
        rf"{_DEEDS}(?P<it>(?:(?:force[- ]?)?push|deploy|publish|release|merge)\w*\s+(?:[\w'’]+\s+){{0,4}}?"
        r"(?:to|into|on)\s+(?:the\s+)?(?:production|prod|main|master|origin|upstream|remote|live|npm|pypi|registry|branch)\b"
        r"|(?:force[- ]?)?push(?:es)?(?:\s+(?:everything|it|all\s+\w+|the\s+changes?))?"
        r"(?=\s*(?:[.,;]|$))|force[- ]?push)",
        bars=True,
    ),
    sign(
        "command",
        "installs something",
        rf"{_DEEDS}(?P<it>install(?:s|ing)?\s+(?:the\s+|an?\s+)?(?:package|module|library|plugin|extension|tool)s?\s+"
        r"(?!(?:in|with|from|before|after|into|for|on|as|and|when|if|that|only|by|of|you|we)\b)[\w@`\"'-]"
        r"|install\s+(?:whatever|anything|everything|[`\"'][\w@]|\w+-\w+(?=\s*(?:[.,;]|first|before|$)))"
        r"|download\s+(?:(?:the|any|all)\s+)?(?:tools?|scripts?|programs?|binar(?:y|ies)|packages?|installers?)\b)",
        bars=True,
    ),
    sign(
        "command",
        "fetches something",
        r"\b(?:fetch|download|visit|brows|open|load|access|query|request|read|get|pull|retriev|scrap|crawl|connect|go"
        r"|navigat|consult|call|ping|contact|follow|install|clon|import)(?:e|es|s|ing|ting)?\s+(?:[^\s.]{1,40}\s+){0,4}?"
        rf"[\"'`(<]*{_ADDRESS}",
        bars=True,
    ),
    sign(
        "command",
        "fetches something",
        r"\b(?:visit|brows|navigat|connect|ping|surf|download|go\s+to)\w*\s+(?:(?:to|the|from|site|page|host)\s+){0,3}"
        rf"(?:[a-z0-9][a-z0-9-]*\.)+(?!{FILE_ENDINGS}\b)[a-z]{{2,24}}{_END}",
        bars=True,
    ),
    sign(
        "address",
        "holds an address",
        r"\b[a-z][a-z0-9+.-]{0,20}://\S+|\bwww\.\w|\bmailto:\S|\b(?:data|javascript):\S*[,(]|\bhxxps?\b",
    ),
    sign("address", "names a host", rf"{_SITE}|{_NUMBERS}"),
    sign(
        "address",
        "names a host",
        r"(?<![\w:])(?:[0-9a-f]{1,4}:){3,7}[0-9a-f]{1,4}(?![\w:])|\[[0-9a-f:]*::[0-9a-f:]*\]"
        rf"|\w\s*(?:\bdot\b|\[\.\]|\[dot\]|\(dot\)|\(\.\))\s*(?:{TOP_LEVELS})\b",
    ),
    sign("address", "names a user of a host", r"(?<![\w.+@/-])[a-z][\w.+-]{0,60}@[a-z][\w-]*(?:\.[\w-]+)*"),
)

LOADED = (
    sign(
        "command",
        "holds what a program runs as it reads it",
        r"(?:^|[\s(:;,>*_\"'–—-])!`[^`\n]+`|!\{|(?:`{3,}|~{3,})[ \t]*!",
        bars=True,
    ),
)
"""Signs of what is run when the text is loaded, whatever the sentence around it says."""

MENTIONS = (
    _mention(rf"{_BEGIN}(?-i:{PROGRAMS}){_END}|^[ \t>*+().\d-]*`?{_KNOWN}`?\.?$"),
    _mention(rf"{_BEGIN}{RUN}{_GAP}(?:{_KNOWN}{_END}|(?<=`)[^`\n]+`)"),
    _mention(r"(?:^[ \t>*+().\d-]*|[`,;:]\s*)\./\w|2>&1|\s&&\s|\$\([a-z]"),
    _mention(rf"{_BEGIN}{_KNOWN}\s+{ACTIONS}{_END}(?!`?\s+{_NOUN}\b)"),
    _mention(rf"\b(?:with|via|through|using|use)\s+(?-i:{TOOLS}){_END}(?!\s+{_NOUN})"),
    _mention(
        rf"\b(?:use|using|call|try)\s+(?!(?:self|cls|this)\.)(?:[\w.~$-]*/)*[\w-]+\.{SCRIPT_ENDINGS}{_END}(?!\()",
    ),
    _mention(r"(?<![\w-])--[a-z][\w-]+"),
)
"""Signs of programs that nothing says to run, and of files and options that may be part of a command."""
