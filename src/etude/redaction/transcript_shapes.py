"""What is a secret in transcripts only: what services and programs give a form of its own (two parts, a check digit,
a place in a file or on a command line), and what nothing but the words before it gives away: `my token is ...`.

A name in a sentence is followed by prose more often than by a secret, so that what is taken there has a digit in it,
and a length.
"""

import re
from collections import Counter

from etude.redaction.shapes import Shape

_WORD = r"(?<![A-Za-z0-9_+/-])"
_WORD_END = r"(?![A-Za-z0-9_+/-])"
_MIXED = r"(?=[^A-Z\s]{0,40}[A-Z])(?=[^a-z\s]{0,40}[a-z])(?=[^\d\s]{0,40}\d)"
_BARE = r"(?![\s$<\[{\"'%-])[^\s\"'|;&]+"
"""A value on a command line that is not a variable or a placeholder."""


def _program(names: str, options: str, value: str = _BARE, between: str = r" {0,4}") -> str:
    """The value of an option of a program."""
    quote = "" if "'" in between else "[\"']?"
    return rf"(?P<keep>(?<![\w-])(?:{names}) (?:[^\n|;&]{{0,300}}? )??(?:{options}){between}{quote}){value}"


SERVICE_SHAPES: tuple[Shape, ...] = (
    # The secret half of a pair of keys has no beginning of its own: what stands near the public half is it.
    Shape(
        "aws-key",
        ("akia", "asia", "redacted:aws-key"),
        r"(?P<keep>(?:A[KS]IA[0-9A-Z]{16}|\[redacted:aws-key\])(?![0-9A-Za-z])[^A-Za-z0-9/+][\s\S]{0,200}?)"
        rf"{_WORD}{_MIXED}[A-Za-z0-9/+]{{40}}(?![A-Za-z0-9/+=])",
    ),
    Shape(
        "aws-key",
        ("akia", "asia", "redacted:aws-key"),
        rf"{_WORD}{_MIXED}[A-Za-z0-9/+]{{40}}(?=[^A-Za-z0-9/+=][\s\S]{{0,120}}?(?:A[KS]IA[0-9A-Z]{{16}}|redacted:aws-key))",
    ),
    Shape(
        "api-key",
        ("ltai", "redacted:alibaba-key"),
        r"(?P<keep>(?:LTAI[A-Za-z0-9]{12,26}|\[redacted:alibaba-key\])[^A-Za-z0-9][\s\S]{0,200}?)"
        rf"{_WORD}{_MIXED}[A-Za-z0-9]{{30}}{_WORD_END}",
    ),
    Shape("alibaba-key", ("ltai",), rf"{_WORD}LTAI(?=[A-Za-z]*\d)[A-Za-z0-9]{{12,26}}{_WORD_END}"),
    Shape("token", (".atlasv1.",), rf"{_WORD}[A-Za-z0-9]{{14}}\.atlasv1\.[\w-]{{40,}}"),
    Shape("token", ("dp.",), r"(?<![\w.])dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{30,}"),
    Shape("token", ("dt0",), r"(?<![\w.])dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    Shape("token", ("flyv1 ", "fm2_"), r"(?:FlyV1 )?(?<!\w)fm[12]a?_[A-Za-z0-9+/_-]{40,}={0,2}(?:,fm2_[\w+/=-]+)*"),
    Shape("token", ("pat",), rf"{_WORD}pat[A-Za-z0-9]{{14}}\.[a-f0-9]{{64}}{_WORD_END}"),
    Shape("token", ("eaaa",), rf"{_WORD}EAAA(?=[A-Za-z_-]*\d)[\w-]{{56,64}}{_WORD_END}"),
    Shape("api-key", ("sk",), rf"{_WORD}SK[0-9a-f]{{32}}{_WORD_END}"),
    Shape("api-key", ("secret_",), rf"{_WORD}secret_(?=[A-Za-z]*\d){_MIXED}[A-Za-z0-9]{{40,50}}{_WORD_END}"),
    Shape("api-key", ("key-",), rf"{_WORD}key-[0-9a-f]{{32}}{_WORD_END}"),
    Shape("api-key", ("-us",), rf"{_WORD}[0-9a-f]{{32}}-us\d{{1,2}}{_WORD_END}"),
    Shape("api-key", ("-",), rf"{_WORD}[0-9a-f]{{32}}-[0-9a-f]{{8}}-[0-9a-f]{{8}}{_WORD_END}"),
    Shape("token", ("/",), rf"{_WORD}\d/\d{{13,17}}(?:/\d{{13,17}})?:[0-9a-f]{{32}}{_WORD_END}"),
    # A bot of Discord: its id, a time and a signature.
    Shape("token", (".",), rf"{_WORD}[MNO][\w-]{{22,27}}\.[\w-]{{6}}\.(?=[A-Za-z_-]*\d)[\w-]{{27,38}}{_WORD_END}"),
    Shape("token", ("cf",), rf"{_WORD}cf(?:ut|at|k)_(?=[A-Za-z]*\d)[A-Za-z0-9]{{40,}}"),
    # Files.
    Shape(
        "authorization",
        ("auth",),
        r"(?P<keep>(?<![\w-])_?auth\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?)"
        r"(?=[A-Za-z+/]{0,200}[\d=]|[a-z+/]{0,200}[A-Z])(?:[A-Za-z0-9+/]{4}){3,}(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?"
        r"(?![A-Za-z0-9+/=_.(-])",
    ),
    Shape(
        "password",
        (":",),
        r"(?P<keep>(?<![^\s\"'`])[\w.*-]{1,128}:(?:[1-9]\d{3,4}|\*):[\w.*-]{1,64}:[\w.@*-]{1,64}:)"
        r"(?![<$\[{*])[^\s:\"'`]{4,}(?![^\s\"'`])",
    ),
    Shape(
        "private-key",
        ("private-lines",),
        r"(?P<keep>Private-Lines:\s{0,4}\d{1,3}(?:\s|\\[nr]){1,4})(?:[A-Za-z0-9+/=]{4,}(?:\s|\\[nr])*)+",
    ),
    Shape(
        "password",
        ("variable",),
        r"(?P<keep>variable\s{1,4}\"[^\"\n]{0,64}(?:passw(?:or)?d|secret|token|_key|passphrase)[^\"\n]{0,64}\"\s{0,4}\{"
        r"[^{}]{0,600}?default\s{0,16}=\s{0,4}\")[^\"\n$]{4,}(?=\")",
        re.IGNORECASE,
    ),
    Shape(
        "password", ("@tcp(", "@unix("), r"(?P<keep>(?<![^\s\"'`=])[\w.-]{1,64}:)[^\s\"'`]{1,256}(?=@(?:tcp|unix)\()"
    ),
    # Code.
    Shape(
        "password",
        ("define",),
        r"(?P<keep>define\(\s{0,4}[\"'][^\"']{0,64}(?:PASS|SECRET|TOKEN|_KEY|_SALT)[^\"']{0,64}[\"']\s{0,4},\s{0,4})"
        r"(?:\"[^\"\n]{4,}\"|'[^'\n]{4,}')",
    ),
    Shape(
        "password",
        ("password", "identified by"),
        r"(?P<keep>(?<!\w)(?:(?:ALTER|CREATE) (?:USER|ROLE|LOGIN) [^;\n]{1,200}?(?:PASSWORD|IDENTIFIED BY)"
        r"|SET PASSWORD[^;\n]{0,200}?)\s{0,4}=?\s{0,4})'[^'\n]{4,}'",
        re.IGNORECASE,
    ),
    Shape(
        "password",
        ("convertto-securestring",),
        r"(?P<keep>ConvertTo-SecureString (?:-String )?)(?:\"[^\"$\n]{4,}\"|'[^'\n]{4,}')",
        re.IGNORECASE,
    ),
    Shape(
        "password",
        ("assword",),
        r"(?P<keep>expect [^\n]{0,64}assword[^\n]{0,32}\n\s{0,16}send (?:-- )?)\"[^\"\n]{4,}\"",
    ),
    # Command lines.
    Shape("password", ("7z", "rar "), _program(r"7z[arz]?|(?:un)?rar", r"-h?p", between="")),
    Shape("password", ("zip ",), _program(r"(?:un)?zip", r"-P|--password")),
    Shape("password", ("ldap",), _program(r"ldap[a-z]{1,12}", r"-w")),
    Shape("password", ("az ",), _program(r"az", r"-p|--password")),
    Shape("password", ("mosquitto",), _program(r"mosquitto_(?:pub|sub)", r"-P|--pw")),
    Shape("password", ("htpasswd",), _program(r"htpasswd", r"-[a-zA-Z]*b[a-zA-Z]* \S{1,200} \S{1,64}", between=" ")),
    Shape(
        "password", ("smb", "cifs"), _program(r"smbclient|rpcclient|net", r"-U {0,4}[\"']?[^\s%]{1,64}%", between="")
    ),
    Shape("password", ("pass:",), r"(?P<keep>-(?:pass(?:in|out)?|k) {1,4}[\"']?pass:)" + _BARE),
    Shape(
        "password", ("echo ", "<<<"), r"(?P<keep>echo {1,4}[\"']?)" + _BARE + r"(?=[\"']? {0,4}\| {0,4}sudo {1,4}-S)"
    ),
    Shape(
        "password",
        ("ssh-keygen",),
        _program(r"ssh-keygen", r"-[NP]", r"(?:\"[^\"$\n]{2,}\"|" + _BARE + ")", " {0,4}'?"),
    ),
    Shape("token", (" -auth ",), r"(?P<keep> -auth {1,4}[\w.@-]{1,64}:)" + _BARE),
    Shape("cookie", ("curl",), _program(r"curl", r"-b|--cookie", r"(?=[\w.-]{1,128}=)[^\n\"']+")),
    Shape(
        "password",
        ("chpasswd",),
        r"(?P<keep>[\"' ][\w.-]{1,32}:)[^\s\"']{4,}(?=[\"']? {0,4}\| {0,4}(?:sudo {1,4})?chpasswd)",
    ),
)

_CARD = re.compile(
    r"(?<![\w.,/-])(?:[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{1,7}|3[47]\d{2}[ -]?\d{6}[ -]?\d{5})(?![\w/-]|[.,]\d)"
)
_CARD_KIND = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|5\d\d|4[4-9]\d)\d{12}|35\d{14}"
)
_IBAN = re.compile(r"(?<![\w-])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![\w-])")


def without_numbers(text: str, counts: Counter[str]) -> str:
    """`text` without card and account numbers (IBAN) whose check digits are right."""

    def replaced(match: re.Match[str]) -> str:
        number = re.sub(r"[ -]", "", match[0])
        kind = "iban" if number[0].isalpha() else "card"
        if not (_is_iban(number) if kind == "iban" else _is_card(number)):
            return match[0]
        counts[kind] += 1
        return f"[redacted:{kind}]"

    return _CARD.sub(replaced, _IBAN.sub(replaced, text))


def _is_card(number: str) -> bool:
    """By the algorithm of Luhn (ISO/IEC 7812-1, annex B)."""
    doubled = "".join(str(int(digit) * (1 + at % 2)) for at, digit in enumerate(reversed(number)))
    right = sum(map(int, doubled)) % 10 == 0
    return right and _CARD_KIND.fullmatch(number) is not None and len(set(number)) > 1


def _is_iban(number: str) -> bool:
    """By ISO 7064, mod 97-10."""
    return len(number) >= 15 and int("".join(str(int(char, 36)) for char in number[4:] + number[:4])) % 97 == 1


_ENGLISH = ("password", "passphrase", "pwd")
"""What follows `=` or `:` after these in the same line, `assignments` judges: it knows paths, code and types."""
_SAID = r"(?:\s{0,4}(?:\b(?:is|was|ist|lautet|est|es|è)\b:?|是|は|为|：)|:\s{0,3}\n)"
_NAMES = (
    *(
        "passwort",
        "kennwort",
        "mot de passe",
        "contraseña",
        "contrasena",
        "senha",
        "parola",
        "wachtwoord",
        "mdp",
        "clave",
    ),
    *("пароль", "密码", "密碼", "パスワード", "비밀번호"),
)
_IS = r"\s{0,4}(?:[:：=]|\b(?:is|was|ist|lautet|est|es|è)\b:?|是|は|为)\s{0,4}[\"'`]?"
# Whatever stands in quotes, brackets or dollars, what was taken out already, names of methods, calls and attributes
# are not secrets.
_VALUE = (
    r"(?![A-Za-z_][\w.]{0,64}\(|(?:self|this|cls|os|env|args|config|settings|process|request)\.)"
    r"(?![\[<$({%*]|https?:|(?:base|sha|md|utf|argon|pbkdf)-?\d)(?=[^\s\"'`]{0,64}\d)(?=[^\s\"'`]{0,64}[^\W\d_])"
    r"[^\s\"'`,;<>(){}\[\]]{6,}[^\s\"'`,;<>(){}\[\].:!?]"
)
_IN_QUOTES = r"\"(?![{$<%])[^\"\n]{4,80}\"|`(?![{$<%])[^`\n]{4,80}`|'(?![{$<%])[^'\n]{4,80}'"
_OF = r"(?:for|of|to|on|für|zu|vom|der|de|del|della|du|des|da|do|van)"

SPOKEN_SHAPES: tuple[Shape, ...] = (
    Shape(
        "private-key",
        ("client-key-data",),
        r"(?P<keep>client-key-data\\{0,8}[\"']?\s{0,8}:\s{0,8}\\{0,8}[\"']?)[A-Za-z0-9+/]{16,}=*",
        re.IGNORECASE,
    ),
    # As `.netrc` has it.
    Shape(
        "password",
        ("login",),
        r"(?P<keep>login\s{1,8}[^\s\"']{1,128}\s{1,8}password\s{1,8})(?![\[<$*{])(?=[^\s\d]{0,64}\d)[^\s\"'\\]{4,}",
        re.IGNORECASE,
    ),
    Shape(
        "authorization",
        ("authorization",),
        r"(?P<keep>(?<!\w)authorization\\{0,8}[\"']?\s{0,8}[:=]\s{0,8}\\{0,8}[\"']?(?:bearer|basic)\s{1,8})"
        r"(?!auth|token|credential|your|access)[\w.~+/-]{8,}=*",
        re.IGNORECASE,
    ),
    Shape("password", _ENGLISH, rf"(?P<keep>(?:{'|'.join(_ENGLISH)}){_SAID}\s{{0,4}}[\"'`]?){_VALUE}", re.IGNORECASE),
    Shape("password", _NAMES, rf"(?P<keep>(?:{'|'.join(_NAMES)}){_IS}){_VALUE}", re.IGNORECASE),
    # `user deploy and password ...`: what follows has to look like one.
    Shape(
        "password",
        ("password ",),
        r"(?P<keep>(?<![\w-])password )(?=[^\s\"'`]{0,64}\d)(?=[^\s\"'`]{0,64}[A-Z])(?=[^\s\"'`]{0,64}[a-z])"
        r"(?![A-Za-z_][\w.]{0,64}\()[^\s\"'`,;<>(){}\[\]]{7,}[^\s\"'`,;<>(){}\[\].:!?]",
    ),
    Shape("password", ("pw", "pass"), rf"(?P<keep>(?<![\w-])(?:pw|pass|passwd){_IS}){_VALUE}", re.IGNORECASE),
    # `the passphrase for the backup is ...`: in quotes it may have several words.
    Shape(
        "password",
        (*_ENGLISH, "passcode", "pw ", *_NAMES),
        rf"(?P<keep>(?<!\w)(?:passcode|pw|{'|'.join((*_ENGLISH, *_NAMES))}) {_OF} "
        rf"[^\n:=.]{{1,80}}?(?:{_IS}|: ?)(?<![\"'`]))(?:{_IN_QUOTES}|{_VALUE})",
        re.IGNORECASE,
    ),
    Shape(
        "password",
        ("passphrase", "passwort", "password"),
        rf"(?P<keep>(?<!\w)(?:passphrase|passwort|password) (?:is|ist):?\s{{1,4}})(?:{_IN_QUOTES})",
        re.IGNORECASE,
    ),
    Shape(
        "token",
        ("token",),
        r"(?P<keep>(?<![A-Za-z0-9])token (?:is:? )?)(?!(?:base|sha|md|utf)-?\d)"
        r"(?=[A-Za-z_-]{0,64}\d)(?=[\d_-]{0,64}[A-Za-z])[A-Za-z0-9_-]{10,}(?![\w.(/])",
        re.IGNORECASE,
    ),
    Shape(
        "api-key",
        ("key ", "key\t"),
        r"(?P<keep>(?:_|api[ _-]?|access[ _-]?|secret[ _-]?|private[ _-]?)key[ \t]{1,4})"
        r"(?=[A-Za-z]{0,64}\d)[A-Za-z0-9]{20,}[A-Za-z0-9+/]*={0,2}(?![\w.(-])",
        re.IGNORECASE,
    ),
)
