"""Long texts made short for a model to read."""


def cut_middle(text: str, limit: int) -> str:
    """At most about `limit` characters: the middle is left out and the cut is marked."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[len(text) - half :]}"
