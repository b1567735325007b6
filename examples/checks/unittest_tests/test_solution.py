"""check: python -m unittest discover -s unittest_tests     (with boxes: 2)"""

# ruff: noqa: PT009, PT027
import unittest

from etude_attempt import AttemptFailed, call


class Add(unittest.TestCase):
    def test_add(self) -> None:
        self.assertEqual(call("solution", "add", 2, 3), 5)
        self.assertEqual(call("solution", "add", -1, 1), 0)

    def test_texts_are_refused(self) -> None:
        with self.assertRaisesRegex(AttemptFailed, "raised TypeError"):
            call("solution", "add", "2", 3)
