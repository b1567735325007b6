"""What a model said: without thoughts, and the answer in it."""

from etude.records import Reply, ToolCall
from etude.records.said import SERVER, last_answer, said_in, without_thoughts
from rows import rows

CUT = "the reply was cut off at the token limit (target.max_output_tokens = 512)"


@rows(
    "thought",
    [
        "<think>It rains.</think>",
        "<think>\n\n</think>\n\n",
        "<think/>",
        "<think />",
        "<thinking_process>It rains.</thinking_process>",
        "<longcat_think>It rains.</longcat_think>",
        "<Think>It rains.</THINK>",
        '<think time="3" model="a">It rains.</think >',
        "<thinking>It rains.</thinking>",
        "<thinking>It rains.</think>",
        "<thought>It rains.</thought>\n",
        "<thoughts>It rains.</thoughts>",
        "<reasoning>It rains.</reasoning>",
        "<mm:think>It rains.</mm:think>",
        "<seed:think>It <seed:cot_budget_reflect>rains</seed:cot_budget_reflect>.</seed:think>",
        "<|thinking|>It may rain.<|/thinking|>",
        "<|think|>It may rain.</|think|>",
        "[THINK]It rains.[/THINK]",
        "◁think▷It rains.◁/think▷",
        "<|begin_of_thought|>It rains.<|end_of_thought|>\n\n<|begin_of_solution|>",
        "<start_of_thought>It rains.<end_of_thought>",
        "<|think_start|>It rains.<|think_end|>",
        "<think>It rains.</ think>",
        "<scratch_pad>It rains.</scratch_pad>",
        "<reasoning_content>It rains.</reasoning_content>",
        "<inner_monologue>It rains.</inner_monologue>",
        "<|START_THINKING|>It rains.<|END_THINKING|><|START_RESPONSE|>",
        "<unused94>thought\nIt rains.<unused95>",
        "<|channel>thought\nIt rains.<channel|>",
        "<|channel|>analysis<|message|>It rains.<|end|><|start|>assistant<|channel|>final<|message|>",
        "It rains.<|end|><|start|>assistant<|channel|>final<|message|>",
        "<|channel|>analysis<|message|>A<|end|><|channel|>commentary<|message|>B<|end|><|channel|>final<|message|>",
        "analysisIt rains.assistantfinal",
        "Thinking...\nIt rains.\n...done thinking.\n\n",
        "Here is my thought process: it rains. Here is my response:",
        "Here are my reasoning steps: it rains.\n[BEGIN FINAL RESPONSE]",
        "It rains.\n</think>\n",
        "It rains. </thinking> ",
        "It rains.[/THINK]",
        "First.\n</think>\nSecond.\n</think>\n",
        "<think>First.</think><think>Second.</think>",
        "<think>First.</think>\n[THINK]Second.[/THINK]\n",
        "<think>First.</think>Second.</think>",
        "<think>It <think>rains</think> a lot.</think>",
        "<think>The tag <think> begins it.</think>",
        "<think>It ends with `</think>` and so it goes.</think>",
        '<think>They ask for "rain"</think>',
        "<think>As in\n```xml\n</think>\n```\nit rains.</think>",
        "Code:\n```py\nit rains\n</think>\n",
        "\ufeff\n <think>It rains.</think>",
        "<antThinking>It rains.</antThinking>\n",
        "<think_faster>It rains.</think_faster>",
        "<thinking_block>It rains.</thinking_block>",
        "<chain-of-thought>It rains.</chain-of-thought>",
        "<cot>It rains.</cot>",
        "<|begin_of_reasoning|>It rains.<|end_of_reasoning|>",
        "<reasoning_start>It rains.<reasoning_end>",
        "<|thought_begin|>It rains.<|thought_end|>",
        "<｜begin▁of▁thinking｜>It rains.<｜end▁of▁thinking｜>",
        "<think>It rains.<\\think>",
        "<think>It rains.<think/>",
        "<|im_start|>assistant\n<think>It rains.</think>",
        "<|start_header_id|>assistant<|end_header_id|>\n\n<think>It rains.</think>",
        "<bos><think>It rains.</think>",
        "<think_never_used_51bce0c785ca2f68081bfa7d>It rains.</think_never_used_51bce0c785ca2f68081bfa7d>",
        "<deepthink>It rains.</deepthink>",
        "<inner_thoughts>It rains.</inner_thoughts>",
        "<ssr_think>It rains.</ssr_think>",
        "<reasoning-steps>It rains.</reasoning-steps>",
        "<start_working_out>It rains.<end_working_out>",
        "<|im_assistant|>assistant<|im_middle|><think>It rains.</think>",
        "<|start_of_role|>assistant<|end_of_role|><think>It rains.</think>",
        "<|turn>model\n<|channel>thought\nIt rains.<channel|>",
        "]~b]ai\n<think>It rains.</think>",
        "[BOS]<|assistant|>\n<think>It rains.</think>",
        "<|START_THINKING|>It rains.<|END_THINKING|><|START_TEXT|>",
        "<|im_start|>assistant\n",
        "<start_of_turn>model\n",
        "<|im_start|>think\nIt rains.<|im_end|>\n<|im_start|>answer\n",
        "<ctrl94>thought\nIt rains.<ctrl95>",
        '<details type="reasoning" done="true">\n<summary>Thought for 3 seconds</summary>\n> Rain?\n</details>\n',
        "<|start_header_id|>assistant<|end_header_id|>\n\n",
        "<|think|>It rains.<|end|><|begin|>assistant<|content|>",
        "<|begin|>assistant<|think|>It rains.<|end|>\n<|begin|>assistant\n<|content|>",
        "<|think|>The mark <|think|> begins it.<|end|><|content|>",
        "It rains.<|end|><|begin|>assistant<|content|>",
        "<|begin|>assistant<|content|>",
        "/think\nIt rains.<|im_end|>\n<|im_start|>assistant\n",
        "<|im_start|>assistant/think\nIt rains.<|im_end|>\n<|im_start|>assistant\n",
        "/think\nIt rains.\nassistant\n",
        "<|inner_prefix|>It rains.<|inner_suffix|>",
        "<|assistant_start|><|inner_prefix|>It rains.<|inner_suffix|>",
    ],
)
@rows("answer", ["Rain", '{"a": "b"}', "```json\n{}\n```", '"rain"', "Use <b>rain</b>."])
def test_a_thought_in_any_spelling_is_taken_off(thought: str, answer: str):
    assert without_thoughts(f"{thought}{answer}\n") == answer


@rows(
    "tail",
    [
        *("<|end_of_solution|>", "<|END_RESPONSE|>", "<|return|>", "[END FINAL RESPONSE]", "<|im_end|>", "</s>"),
        *(
            "<eos>",
            "<|user|>",
            "[e~[",
            "<turn|>",
            "<seed:eos>",
            "<|END_TEXT|>",
            "<|flush|>",
            "<｜end▁of▁sentence｜>\n",
        ),
    ],
)
def test_marks_around_what_is_said_are_taken_off_too(tail: str):
    heads = {"<|end_of_solution|>": "<|begin_of_solution|>", "<|END_RESPONSE|>": "<|START_RESPONSE|>"}
    assert without_thoughts(f"<think>a</think>{heads.get(tail, '')}Rain{tail}") == "Rain"


@rows(
    "more",
    [
        "<|im_end|>\n<|im_start|>user\nAnd snow?<|im_end|>\n<|im_start|>assistant\n<answer>Snow</answer>",
        "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd snow?",
        "<end_of_turn>\n<start_of_turn>user\nAnd snow?",
        "</s><|user|>\nAnd snow?",
    ],
)
def test_turns_that_a_model_makes_up_behind_its_own_are_not_said(more: str):
    assert without_thoughts(f"<think>a</think><answer>Rain</answer>{more}") == "<answer>Rain</answer>"


@rows("wrap", ["<response>{}</response>", "<SOLUTION>\n{}\n</SOLUTION>", "<output>{}</output>"])
def test_a_wrapper_counts_as_one_behind_thoughts_only(wrap: str):
    assert without_thoughts(f"<think>a</think>\n{wrap.format('Rain')}") == "Rain"
    assert without_thoughts(wrap.format("Rain")) == wrap.format("Rain")
    two = f"{wrap.format('Rain')} or {wrap.format('sun')}"
    assert without_thoughts(f"<think>a</think>{two}") == two


@rows(
    "text",
    [
        "<|im_end|>",
        "<|im_start|> begins a turn.",
        "Thoughts stand between <think> and </think>.",
        "Close it with `</think>`.",
        'It is text.split("</think>")[-1].',
        "Look:\n```html\n<p></think></p>\n```\nDone.",
        "Look:\n<think>a</think>\nDone.",
        "<answer><think></answer>",
        "<answer>End with </think></answer>",
        "<answer>\n<think>\nHm.\n</answer>",
        "`<think>` begins a thought.",
        "<thinker>Rodin</thinker>",
        "<thought_leader>Rodin</thought_leader>",
        "<plan_thoughts_table>a</plan_thoughts_table>",
        "high</reasoning_effort>",
        "<thinking-indicator/> shows it",
        "<s>sun</s> rain",
        "<s>sun</s> <s>wind</s> rain",
        "A turn ends with <|im_end|> and the next begins with <|im_start|>.",
        "Read <details>more</details> here.",
        "think\ntwice",
        "/think\nswitches it on.",
        "A turn of Solar has `<|end|><|begin|>assistant<|content|>` in it.",
        "It ends with <|end|>, and <|content|> begins another.",
        "<p>I think</p>",
        "Analysis: it rains.",
        "Thinking... it rains.",
        "Here is my thought process: it rains.",
        "[thinking] it rains",
        "1 < 2 and 3 > 2",
        "{x | x < think}",
        '<|channel|> is a token, and so is "<|message|>".',
    ],
)
def test_a_mark_within_an_answer_is_text(text: str):
    assert without_thoughts(text) == text


@rows(
    "text",
    [
        "<think>It rains",
        "<think>",
        "[THINK]It rains, so <answer>rain</answer>",
        "<THINKING>It ends with `</thinking>`, they say",
        "<think>First.</think><think>Second",
        "◁think▷It rains",
        "<|channel|>analysis<|message|>It rains",
        "<|channel|>analysis<|message|>It rains<|end|>",
        "<|think|>It rains<|end|>",
        "<|think|>It rains<|end|><|begin|>assistant<|tool_calls|>",
        "<|inner_prefix|>It rains",
    ],
)
def test_a_thought_that_never_ends_is_no_answer(text: str):
    assert without_thoughts(text) is None
    assert said_in(Reply(text=text), 512) == ("", "the reply is a thought that never ends", "empty")
    assert said_in(Reply(text=text, finish="length"), 512) == ("", f"{CUT}, within its thoughts", "cut off")


@rows(
    ("reply", "problem"),
    [
        (Reply(text=" \n"), "the reply was empty"),
        (Reply(text="<think>It rains.</think>\n"), "the reply has thoughts and no answer"),
        (Reply(text="<think>It rains.</think>", finish="length"), f"{CUT}, within its thoughts"),
        (Reply(finish="length"), f"{CUT}, before any text"),
        (Reply(finish="length", text_in="reasoning"), f"{CUT}, within its thoughts"),
        (Reply(text="No.", finish="refusal"), "the model refused"),
        (
            Reply(tool_calls=(ToolCall(id="1", name="search", arguments="{}"),), finish="tool_calls"),
            "the reply calls the tool 'search', and no tools were offered",
        ),
        (
            Reply(text_in="reasoning_content"),
            f"the reply has no `content`, its text stood in `reasoning_content`: {SERVER}",
        ),
    ],
)
def test_a_reply_that_says_nothing_has_its_reason(reply: Reply, problem: str):
    assert said_in(reply, 512).problem == problem


@rows(
    ("text", "answer"),
    [
        ("I put it in <answer> tags.\n<answer>7</answer>", "7"),
        ("It goes between <answer> and </answer>.\n<answer>7</answer>", "7"),
        ("The form is <answer>...</answer>.\n<answer>7</answer>", "7"),
        ("With `<answer>` around it:\n<answer>7</answer>", "7"),
        ("<answer>6</answer> no, <answer>7</answer>", "7"),
        ("<answer>7</answer>, between <answer> and </answer> as you wished.", "7"),
        ("<answer>7</answer>\nI used the <answer> tag.", "7"),
        ("<answer>6 <answer>7</answer>", "7"),
        ("<answer>7</answer><think>or <answer>6</answer>?</think>", "7"),
        ("<answer>7</answer>\n[THINK]<answer>6</answer> or <answer>5</answer>[/THINK]", "7"),
        ("Was <think> asked for? <answer>7</answer>", "7"),
        ('<Answer type="number">7</ANSWER>', "7"),
        ("```xml\n<answer>7</answer>\n```", "7"),
        ("`<answer>7</answer>`", "7"),
        ("<answer>and</answer>", "and"),
        ("<answer> and </answer>", "and"),
        ("<answer>a < b</answer>", "a < b"),
        ("<answer></answer>", ""),
        ("7", "7"),
        ("The <answer> tag is not needed: 7", "The <answer> tag is not needed: 7"),
        ("7</answer>", "7</answer>"),
        ("<answer>7</ answer>", "7"),
        (r"<answer>7<\answer>", "7"),
        ("<answer>7</answer", "7"),
        ("<answer>7<answer>\n", "7"),
        ("So it is <|begin_of_box|>7<|end_of_box|>.", "7"),
        ("<answer>7<answer/>", "7"),
        ("<answer>7</answers>", "7"),
        ("<answer>7<\\/answer>", "7"),
        ("<final_answer>7</final_answer>", "7"),
        ("<final-answer>6</final-answer> <Final_Answer>7</answer>", "7"),
        ("<|answer|>7<|/answer|>", "7"),
        ("<answer>7</answer> as in `<answer>6</answer>`", "7"),
        ('"<answer>7</answer>"', "7"),
        ("<answer>7</answer>\n```py\nprint('<answer>6</answer>')\n```", "7"),
        ("<answer>\n```\n7\n</answer>\n```", "```\n7"),
        ("It goes like <answer>result</answer>:\n```\n<answer>7</answer>\n```", "7"),
        ("<answer>Close it with `</answer>` here.</answer>", "Close it with `</answer>` here."),
        ("<answer>\n<think>6?</think>\n7</answer>", "7"),
        ("<answer><think></answer>", "<think>"),
        ("<answer>7</answer>. What <answer> holds counts.", "7"),
        ("<answer>7</answer> It is in <answer>-tags now.", "7"),
        ("<answer>7</answer> There are two <answer>s here.", "7"),
        ("<answer>7</answer> It stands (in <answer>).", "7"),
        ("<answer>7</answer> I used _<answer>_ and nothing else.", "7"),
        ("<answer>7</answer> <b>I used <answer></b> as well", "7"),
        ("<answer>7</answer> One of <answer>/<result> was due", "7"),
        ("<answer>7</answer> It is read by print('<answer>' + x + '<answer>y", "7"),
        ("<answer>7</answer> The pattern is r/<answer>([A-Z]+", "7"),
        ("<answer>7</answer> 我使用了<answer>标签", "7"),
        ("<answer>7</answer> 정답은 <answer>에 있다", "7"),
        ("<answer>5</answer> I mean <answer>7</answer", "7"),
    ],
)
def test_the_last_pair_of_tags_has_the_answer(text: str, answer: str):
    assert last_answer(text, cut=False) == last_answer(text, cut=True) == answer


@rows(
    "text",
    [
        "Work.\n<answer>7",
        "In <answer> tags:\n<answer>7\n",
        "Between <answer> and </answer>: <answer>7",
        "<answer>7",
        "The form is <answer>...</answer>.\n<answer>7",
        "<answer>6</answer> No, wait. <answer>7",
        "<answer>6</answer> That is wrong, so <answer>7",
        "<answer>6</answer>, rather <answer>7",
        "<answer>6</answer>\n\nNo, the answer is **<answer>7",
        "<answer>6</answer> (wrong) <answer>7",
        "<answer>6</answer> 不对，应该是<answer>7",
        "I put <answer>6</answer> in the <answer> tag, and yet it is <answer>7",
    ],
)
def test_an_answer_without_an_end_is_read_to_the_end_of_the_reply_unless_that_was_cut_off(text: str):
    assert last_answer(text, cut=False) == "7"
    assert last_answer(text, cut=True) is None


@rows("answer", ["-7", "$7.50", ".5", "~7", "**7**", '"Rain"', "Ödön", "\\frac{1}{2}", "(1, 2)", '{"a": 1}', "$-7$"])
def test_what_is_bound_to_the_last_tag_is_its_answer(answer: str):
    assert last_answer(f"<answer>6</answer> or rather <answer>{answer}", cut=False) == answer


@rows(
    "text",
    [
        "<",
        "<think>",
        "x<think>",
        "</think>",
        "<think ",
        "<answer>",
        "</answer>",
        "<answer>x</answer>",
        "<think>a</think>",
        "<|channel|>analysis",
        "[THINK",
        " ",
        "```\n",
        "a-",
    ],
)
def test_a_huge_reply_is_read(text: str):
    long = text * (40_000 // len(text))
    assert last_answer(f"{long}\n</think>\nDone: <answer>7</answer>", cut=False) == "7"
    assert without_thoughts(f"{long}\n<|channel|>final<|message|>7") == "7"
