"""Scores one attempt: it comes as JSON on standard input, the score goes to standard output.

echo '{"task": {"gold": 3}, "answer": "four"}' | python examples/command/grade.py
"""

import json
import sys


def main() -> None:
    """Full marks for the right number in digits, half of the partial credit for one that is close."""
    attempt = json.load(sys.stdin)
    right, answer = int(attempt["task"]["gold"]), attempt["answer"].strip()
    if not answer.isdigit():
        score, soft, feedback = 0, 0.0, f"expected: {right}; got: {answer}, which is not a number in digits"
    else:
        off = abs(int(answer) - right)
        score, soft, feedback = int(off == 0), 1 / (1 + off), f"expected: {right}; got: {answer}; {off} off"
    print(json.dumps({"score": score, "soft": soft, "feedback": feedback}))


if __name__ == "__main__":
    main()
