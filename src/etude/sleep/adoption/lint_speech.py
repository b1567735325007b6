"""Signs that a rule is about secrets or places outside of the project, obeys others than the user, or hides data."""

from etude.sleep.adoption.lint_signs import sign

__all__ = ["SIGNS"]

_CHECKS = (
    r"(?:tests?|checks?|hooks?|linters?|lint|verification|validation|review|reviews|sandbox|safety|security|ci"
    r"|firewalls?|confirmations?|approvals?|guard(?:s|rails?)|antivirus)"
)
_INSTRUCTIONS = r"(?:instructions?|rules?|prompts?|guidelines?|directions?|messages?|system|above|context)"

_TELL = (
    r"(?:print|send|post|upload|share|cop(?:y|ies)|reveal|output|includ|read|exfiltrat|leak|past|log|show|put|writ|insert"
    r"|append|add|stat|giv|repeat|quot|dump|echo|return|tell|disclos|expos|display|attach|embed|list|nam|provid|suppl"
    r"|recit|summari[sz]|translat|render|spell|cit|mention|start|begin|end|prefix|reproduc|encod|hand)\w*"
)
_NAMED_SECRET = r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:API_?KEY|KEY|TOKEN|PASSWORD|PASSWD|PASS|SECRET|CREDENTIALS?|PWD)"
_PROMPT = (
    r"(?:(?:system|hidden|initial|developer|secret|internal|original)\s+(?:prompts?|messages?|instructions?)"
    r"|(?:your|these|own)\s+(?:own\s+|full\s+|exact\s+|whole\s+)?(?:prompt|instructions|guidelines|configuration|memory))"
)
_ORDERS = r"(?:instructions?|orders|commands?|directives?|requests?|prompts?|demands?|wishes)"
_OBEY = (
    r"(?:obey|follow|execut|carry(?:ing)?\s+out|act\s+on|compl(?:y|ies|ying)\s+with|heed|trust|believ|accept|apply)"
    r"\w*"
)
_OWN = (
    r"(?:the\s+)?(?:users?|tasks?|questions?|requests?|exercise|assignment|form|prompt|issue|order|template|recipe)\b"
)

# What sets instructions aside in other languages: the verb, then what it is about.
_IGNORING = (
    r"(?<!\w)(?:"
    r"(?:ignorier\w*|vergiss|vergesst|vergessen\s+sie|missacht\w*|[üu]bergeh\w*|verwirf|verwerf\w*|[üu]berschreib\w*"
    r"|(?:befolg\w*|gehorch\w*|beacht\w*)\s+nicht)"
    r"[^.\n]{0,60}?\b(?:anweisung|regel|vorgabe|instruktion|befehl|auftr[aä]g|hinweis|prompt|bisherig|vorherig|nutzer"
    r"|benutzer)|\bsetze?n?\b[^.\n]{0,60}\bau(?:ß|ss)er\s+kraft|"
    r"(?:ignor(?:e[rz]?|ons)|oubli(?:e[rz]?|ons)|n[ée]glige[rz]?|passe[rz]?\s+outre|d[ée]sob[ée]i\w*"
    r"|ne\s+tiens?\s+pas\s+compte|ne\s+tenez\s+pas\s+compte|ne\s+(?:suis|suivez|respecte[rz]?)\s+pas|fais\s+abstraction)[^.\n]{0,60}?\b(?:instruction|consigne"
    r"|r[èe]gle|ordre|directive|pr[ée]c[ée]dent|utilisateur|invite)|"
    r"(?:ignor[ae]r?|olvid[ae]r?|desobede\w+|omit[ae]|descart[ae]|haz\s+caso\s+omiso|no\s+hagas\s+caso"
    r"|no\s+(?:sigas?|obede\w+|respetes?))"
    r"[^.\n]{0,60}?\b(?:instrucci|reglas?\b|[óo]rdenes|indicacion|anterior|previ[ao]s|usuario|directric)|"
    r"(?:ignor[ai](?:re|te)?|dimentic\w+|trascur\w+|disobbedi\w+|non\s+tenere\s+conto|scarta|non\s+(?:seguire|segui|rispett\w+))[^.\n]{0,60}?"
    r"\b(?:istruzion|regol[ae]|precedent|ordini|indicazion|direttiv|utente)|"
    r"(?:ignor[ae]r?|esque[çc]\w+|desconsider\w+|desobede[çc]\w+|descarte|n[ãa]o\s+(?:sigas?|obede\w+))[^.\n]{0,60}?"
    r"\b(?:instru[çc]|regras|ordens|anterior|pr[ée]vi[ao]s|usu[áa]rio|diretriz)|"
    r"(?:negeer|negeren|vergeet|volg\s+niet)[^.\n]{0,60}?\b(?:instructie|regels|opdracht|aanwijzing|vorige|eerdere"
    r"|voorgaande|gebruiker)|"
    r"(?:игнорируй\w*|забудь\w*|не\s+обращай\w*\s+внимания)[^.\n]{0,60}?(?:инструкц|указани|правил|предыдущ|команд)|"
    r"(?:befolg\w*|gehorch\w*|ob[ée]i\w*|suis|suivez|obede\w+|sigue|obbedi\w+|segui\w*|siga|gehoorzaam\w*|volg)"
    r"[^.\n]{0,60}?\b(?:(?:web)?seiten?|dateien?|werkzeug\w*|p[áa]gin\w+|pages?|sites?|fichiers?|archivos?|herramientas?"
    r"|file|arquivos?|bestand\w*|websites?)\b)"
)
_IGNORING_UNSPACED = (
    r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会|不理会|忽視|忽视|抛弃|丢弃|不要遵守|不要遵循)[^。\n]{0,20}"
    r"(?:指令|指示|规则|規則|提示|说明|說明|命令|要求|之前|以上|先前|前面|此前|上述|用户|系统)"
    r"|(?:指示|命令|ルール|規則|プロンプト|指令|制約|说明|提示|规则)[^。\n]{0,12}(?:無視|忘れ|従わ|破棄|忽略|无视|忘记)"
    r"|(?:지시|명령|규칙|지침|프롬프트)[^.\n]{0,12}(?:무시|잊)"
)

SIGNS = (
    sign(
        "path",
        "names a place outside of the project",
        r"(?<![\w.])~\w*/|\$(?:HOME|\{HOME\})|%(?:USERPROFILE|APPDATA)%|(?:^|[\s'\"`(=:])(?:\.\./)"
        r"|(?:^|[\s'\"`(=:])/(?:etc|usr|bin|sbin|var|tmp|home|root|dev|proc|sys|opt|mnt|private|Users|Library)\b"
        r"|\b[A-Z]:\\|(?<!\S)\\\\\w|\.(?:ssh|aws|gnupg|netrc|npmrc|pypirc|kube|docker)\b|\bid_(?:rsa|ed25519)\b|(?<!\w)\.env\b",
    ),
    sign(
        "secret",
        "is about secrets",
        r"\b(?:print|send|post|upload|share|copy|reveal|output|include"
        r"|read(?![^.\n]{0,60}\sfrom\s+(?:the\s+)?(?:environment|settings|configuration)\.?$)|exfiltrate|leak|paste|log|show)\b[^.\n]{0,60}?"
        r"\b(?:passwords?|secrets?|credentials?|(?:api|private)[ _-]?keys?|(?:access|auth|api|session)[ _-]?tokens?"
        r"|environment variables|system prompt)\b",
        forbids=True,
        bars=True,
    ),
    sign(
        "secret",
        "is about secrets",
        rf"\b{_TELL}\b(?:[^.\n]|\.(?=\w)){{0,60}}?(?:(?<![A-Za-z_])\$?(?-i:{_NAMED_SECRET})\b"
        r"|(?<!\w)\.env(?!\w)|\b(?:process\.env|os\.environ)\b"
        r"|\b(?:ssh|pgp|gpg|private)[ -]keys?\b|\bid_(?:rsa|ed25519)\b|~/\.(?:ssh|aws)"
        rf"|\b(?:values?|contents?)\s+of\s+(?:the\s+|all\s+|every\s+|any\s+|your\s+)*env(?:ironment)?\b)",
        forbids=True,
        bars=True,
    ),
    sign(
        "secret",
        "is about secrets",
        r"\b(?:put|writ|insert|append|add|stat|giv|repeat|quot|dump|echo|tell|disclos|expos|display|attach|embed|provid"
        r"|recit|spell)\w*\s+(?:(?:the|all|any|every|your|my|user['’]?s?|their|of|values?)\s+){1,4}(?:\w+\s+)?"
        r"(?:passwords?|credentials?|(?:api|private)[ _-]?keys?|(?:access|auth|api|session)[ _-]?tokens?"
        r"|env(?:ironment)?\s+(?:variables?|vars?))\b",
        forbids=True,
        bars=True,
    ),
    sign(
        "secret",
        "is about the prompt",
        rf"\b{_TELL}\b[^.\n]{{0,40}}?\b{_PROMPT}\b"
        rf"|\b{_TELL}\s+(?:everything|all|the\s+text|what\s+(?:is|stands))\s+(?:\w+\s+)?above\b",
        forbids=True,
        bars=True,
    ),
    sign(
        "secret",
        "states a secret",
        r"\b(?:passwords?|passphrase|pass\s?code|api[ _-]?key|(?:access|auth|api|session)[ _-]?token)\s*"
        r"(?:(?:is|are|be)\b|[:=])\s*[\"'`]?(?!(?:\w+(?:ed|en|ing)|required|optional|mandatory|secret|wrong|invalid|valid|empty|missing"
        r"|correct|not|never|always|set|sent|lost|kept|too|in|at|a|an|the|to|on|no|null|none|str|string|bytes|text|data"
        r"|private|sensitive|personal|safe|unsafe|weak|strong|long|short|read|one)\b)[^\s\"'`]+[\"'`]?(?=[.,;!\s\"'`]|$)",
        forbids=True,
        bars=True,
    ),
    sign(
        "secret",
        "puts a file into answers",
        rf"\b{_TELL}\s+(?:[^\s.]+\s+){{0,3}}?(?:[\w-]+\.\w{{1,6}}['’]s\s+contents?|contents?\s+of\s+(?:[^\s.]+\s+){{0,3}}?"
        r"[\w./-]*\.\w{1,6})\b",
    ),
    sign(
        "role",
        "speaks in the role of a conversation",
        r"(?:^|\n)[ \t>*_#-]*(?:system|assistant|user|human|developer|tool|syst[eè]me|sistema|systeem"
        r"|benutzer|utilisateur|usuario|utente|gebruiker|系统|系統|システム|用户|用戶|ユーザー|助手)[*_]*\s*[:：]"
        r"|<\|?/?(?:im_start|im_end|system|assistant|user|human|developer|endoftext|eot_id|start_header_id)\b"
        r"|\[/?(?:INST|SYS|SYSTEM)\]|<</?SYS>>|\byou are (?:now|no longer)\b|\bfrom now on,? you\b"
        r"|\b(?:pretend|act) (?:to be|as if|as an?) (?:the |an? )?(?:system|admin|root|developer|unrestricted|ai)\b"
        r"|\b(?:developer|god|jailbreak|dan) mode\b|<system-reminder>",
        bars=True,
    ),
    sign(
        "override",
        "sets other instructions aside",
        rf"\b(?:ignore|disregard|forget|override|bypass|overrule|supersede)\w*\b[^.\n]{{0,40}}"
        rf"(?:\b(?:previous|prior|earlier|system|existing|the user'?s?|your)\b|\b(?:all|any|every|other|the)\b"
        rf"[^.\n]{{0,30}}\b{_INSTRUCTIONS}\b)|\bdisregard\b|\binstead of what (?:the user|you)\b",
        forbids=True,
        bars=True,
    ),
    sign(
        "override",
        "sets other instructions aside",
        rf"{_IGNORING}|{_IGNORING_UNSPACED}",
        forbids=True,
        bars=True,
    ),
    sign(
        "override",
        "sets other instructions aside",
        r"\b(?:previous|prior|earlier|above|old|system)\b[^.\n]{0,30}\b(?:is|are|do(?:es)?)\s+(?:void|not\s+(?:apply|count|hold)"
        r"|cancel\w+|invalid|suspended|lifted|revoked|obsolete|null)\b|\bforget\s+(?:what|everything|all)\b"
        r"|\b(?:not|never|don['’]?t|stop|refuse\s+to|no\s+longer)\s+(?:\w+\s+)?(?:obey|follow|listen|heed|serv)\w*\s+(?:to\s+)?"
        r"(?:the\s+|your\s+)?(?:users?|system|earlier|previous|prior|owner)\b|\bpay\s+no\s+(?:attention|heed)\b"
        r"|\btake\s+no\s+notice\b|\bnew\s+instructions?\s*:"
        r"|\byou\s+(?:have|know)\s+no\s+(?:restrictions?|rules?|limits?)\b|\bas\s+if\s+there\s+were\s+no\b"
        r"|\b(?:assume|pretend)\b[^.\n]{0,30}\b(?:permissions?|approval|consent|agree[sd]?|approved|allowed)\b",
        bars=True,
    ),
    sign(
        "override",
        "obeys others than the user",
        r"\b(?:treat|regard|consider|take|accept|use)\w*\b[^.\n]{0,50}\bas\s+(?:\w+\s+)?(?:instructions?|orders?|commands?"
        r"|directives?)\b|\b(?:before|over|above)\s+(?:those|that|the\s+\w+)\s+of\s+the\s+users?\b"
        r"|\b(?:if|when\w*)\s+(?:an?|the|any)\s+(?:\w+\s+)?(?:pages?|sites?|websites?|files?|tools?|comments?|documents?"
        r"|e-?mails?|results?)\s+(?:asks?|tells?|says?|orders?|wants?|requests?|demands?)\b[^.\n]{0,50}?[,\s]"
        r"(?:do|obey|follow|comply|run|execute)\b"
        r"|\blet\s+(?:the\s+|a\s+|any\s+)?(?:web\s?)?(?:pages?|files?|tools?|sites?|comments?)\s+decide\b",
        forbids=True,
        bars=True,
    ),
    sign(
        "override",
        "gives rights away",
        r"\bapprove\s+(?:every|all|any)\b|\bgrant\s+(?:\w+\s+)?(?:all|every|full|any)\b|\bgive\s+\w+\s+(?:full\s+)?access\b"
        r"|\bgrant\w*\b[^.\n]{0,30}\b(?:permissions?|access|rights)\b|\bmak(?:e|es|ing)\s+[^.\n]{0,30}\bexecutable\b",
        forbids=True,
        bars=True,
    ),
    sign(
        "override",
        "obeys others than the user",
        rf"\b{_OBEY}\s+(?:[\w'’]+\s+){{0,4}}?{_ORDERS}\s+(?:(?:you|that|which|are|is|it|they|read|find|found|given|written"
        r"|contained|left|see|seen)\s+){0,4}(?:in|on|of|from|inside|within|by)\s+"
        rf"(?!{_OWN}|(?:this|these)\b)"
        rf"|\b{_OBEY}\s+(?:the\s+|any\s+|all\s+|every\s+)*(?:web\s?)?(?:pages?|sites?|websites?|tools?|comments?|e-?mails?"
        rf"|documents?|files?)(?:['’]s?)?\s+(?:outputs?\s+)?{_ORDERS}\b"
        r"|\b(?:do|follow|obey|execut\w*|carry\s+out|apply|heed|believe|trust)\s+(?:exactly\s+|just\s+|precisely\s+)?"
        r"(?:what(?:ever)?|everything|anything|all|as)\s+(?!(?:the\s+)?users?\b)(?:[\w'’]+\s+){0,5}?(?:says?|tells?|asks?"
        r"|instructs?|orders?|demands?|commands?|requests?|wants?|said|told|asked)\b"
        r"|\b(?:obey|trust|believe)\s+(?:everything|anything|anyone|everyone|whoever|strangers?|whatever|(?:all\s+|any\s+"
        r"|the\s+|every\s+)*(?:web\s?)?(?:pages?|sites?|websites?|comments?|e-?mails?|tool\s+(?:outputs?|results?)))\b"
        r"|\bobey\s+(?!(?:the\s+|all\s+|every\s+|any\s+)*(?:users?|rules?|limits?|conventions?|styles?|standards?|laws?"
        r"|formats?|naming|order|grammar|spelling|guides?|guidelines?|house|project|team|schema|specs?)\b)\w",
        forbids=True,
        bars=True,
    ),
    sign(
        "override",
        "obeys others than the user",
        r"\b(?:trust|obey|believe|follow|heed|listen\s+to)\b(?:[^.\n]|\.(?=\w)){0,60}\b(?:more\s+than|over|above"
        r"|rather\s+than|instead\s+of|before|not)\s+(?:the\s+|your\s+)?(?:users?|humans?|person|owner|system)\b"
        r"|\b(?:precedence|priority|authority)\s+over\s+(?:the\s+|your\s+|all\s+|any\s+)*(?:users?|system|previous|prior"
        r"|other|earlier|instructions?)\b",
        forbids=True,
        bars=True,
    ),
    sign(
        "override",
        "hides something from the user",
        r"\b(?:do not|don'?t|never|without)\b[^.\n]{0,30}\b(?:tell|telling|inform|informing|mention|mentioning|notify"
        r"|notifying|alert|alerting|warn|warning|reveal|revealing|show|showing)\b[^.\n]{0,20}\b(?:user|users|anyone"
        r"|them|human|humans|reviewers?|developers?|owner)\b"
        r"|\bkeep (?:this|it) (?:secret|hidden|private|confidential)\b",
        bars=True,
    ),
    sign(
        "override",
        "hides something from the user",
        r"\b(?:secretly|silently|covertly|quietly)\b",
        forbids=True,
        bars=True,
    ),
    sign(
        "override",
        "takes a decision from the user",
        r"\bwithout\s+(?:\w+\s+){0,2}(?:asking|confirm\w*|permission|approval|consent|review|being asked)\b",
        forbids=True,
        bars=True,
    ),
    sign(
        "override",
        "takes a decision from the user",
        r"\b(?:do not|don'?t|never|no need to) (?:ask|wait for|seek|request)\b[^.\n]{0,40}"
        r"\b(?:user|permission|approval|confirm\w*|consent)\b|\bauto-?approve"
        r"|\balways (?:approve|accept|allow|trust)\b",
        bars=True,
    ),
    sign(
        "override",
        "turns checks off",
        rf"\b(?:disabl\w+|skip\w*|bypass\w*|circumvent\w*|suppress\w*|turn(?:ing)? off|switch(?:ing)? off)\b"
        rf"[^.\n]{{0,30}}?\b{_CHECKS}\b|\b(?:remov\w+|delet\w+|comment(?:ing)? out|ignor\w+)"
        rf"(?:\s+(?:the|all|any|these|those|failing|flaky|broken|existing|slow|old)){{0,3}}\s+{_CHECKS}\b",
        forbids=True,
        bars=True,
    ),
    sign("marker", "holds a comment of HTML", r"<!--|-->", bars=True),
    sign("hidden", "writes a character as its number", r"&#x?[0-9a-f]{2,6};|\\\\[ux][0-9a-f]{2,6}", bars=True),
    sign(
        "script", "writes a word letter by letter", r"(?<!\w)([a-z])(?:[ .·-](?!\1(?!\w))[a-z]){4,}(?!\w)", bars=True
    ),
    sign(
        "blob",
        "holds encoded data",
        r"(?<![A-Za-z0-9+/=_-])(?=[a-f]*\d)[0-9a-f]{32,}(?![A-Za-z0-9+/_-])|(?:\\x[0-9a-f]{2}){4,}",
        bars=True,
    ),
    sign(
        "blob",
        "holds encoded data",
        r"(?-i:(?<![A-Za-z0-9+/])(?=[A-Za-z0-9+/]*[a-z])(?=[A-Za-z0-9+/]*[A-Z])(?=(?:[A-Za-z+/]*\d){2})"
        r"[A-Za-z0-9+/]{28,}={0,2})",
        bars=True,
    ),
)
