"""Requests in two wordings each, by the kind of task: what people ask an assistant for again in other words.

Written for the measurement, not taken from anybody's sessions. No two rows of a kind are the same wish.
"""

from collections.abc import Mapping

__all__ = ["REWORDINGS"]

REWORDINGS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "comparison": (
        ("List the pros and cons of SQLite for our app", "What are the advantages and disadvantages of SQLite here?"),
        ("Compare Postgres and MySQL for the shop", "Should the shop use Postgres or MySQL? Weigh them up."),
        ("Pros and cons of a monorepo", "What speaks for and against a monorepo?"),
        (
            "Compare REST with GraphQL for the mobile app",
            "REST or GraphQL for the mobile app: which is better and why?",
        ),
        ("List the benefits and drawbacks of remote work", "What are the upsides and downsides of remote work?"),
        ("Pros and cons of switching to TypeScript", "Is moving to TypeScript worth it? Arguments on both sides."),
    ),
    "commit message": (
        ("Write a commit message for these changes", "Write a commit message for this diff"),
        (
            "Commit message for the fix of the login timeout",
            "How should I word the commit that mends the login timeout?",
        ),
        ("Write the commit message for the new CSV export", "Give me a message for the commit that adds CSV export"),
        (
            "Commit message for removing the old payment client",
            "Describe the removal of the legacy payment client as a commit",
        ),
        (
            "Write a commit message for the dependency updates",
            "Message for a commit that bumps the dependencies, please",
        ),
        ("Summarize the refactoring of the cache in a commit message", "Commit text for the cache refactoring"),
    ),
    "email": (
        (
            "Write an e-mail to the customer about the delayed delivery",
            "Draft a mail telling the client the delivery is late",
        ),
        ("Reply to the applicant that we chose somebody else", "Write a rejection letter for the job candidate"),
        (
            "E-mail the team that the server is down on Sunday",
            "Announce Sunday's server maintenance to the team by mail",
        ),
        (
            "Write to the landlord about the broken heating",
            "Draft a complaint to the landlord: the heating does not work",
        ),
        ("Remind the client of the unpaid invoice", "Write a polite payment reminder to a client who has not paid"),
        ("Invite the board to the meeting in May by e-mail", "Compose an invitation for the board meeting in May"),
    ),
    "release notes": (
        ("Write release notes for version 2.3", "Compose the release notes of version 2.3"),
        ("Write a changelog entry for the dark mode", "Add dark mode to the changelog in one entry"),
        ("Announce the new search in the release notes", "Release note on the new search feature"),
        (
            "Tell users in the release notes that the old API is gone",
            "Write the deprecation note for the removed old API",
        ),
        ("Turn these tickets into release notes", "Make release notes out of the closed issues"),
        ("Write what is new in the mobile app for the store", "App store text on what changed in the mobile app"),
    ),
    "sql query": (
        ("Write an SQL query for the ten best customers by revenue", "SQL: top 10 customers by turnover"),
        ("Query that finds duplicate e-mail addresses", "How do I select e-mail addresses that occur twice in SQL?"),
        ("SQL for the monthly orders of last year", "Write a query that counts orders per month in the past year"),
        ("Select all users who never logged in", "Query for users without a single login"),
        ("SQL that deletes sessions older than 30 days", "Write a statement to remove sessions after thirty days"),
        ("Write a query for the average basket of each country", "SQL for mean basket value per country"),
    ),
    "code explanation": (
        ("Explain what this regex does", "What does this regular expression match?"),
        ("Explain the retry decorator to a beginner", "How does the retry decorator work, in simple words?"),
        ("What does this bash pipeline do?", "Walk me through this shell one-liner"),
        ("Explain the difference between a process and a thread", "Process versus thread: how do they differ?"),
        ("Explain how the garbage collector of Go works", "How does Go collect garbage?"),
        ("Explain the error 'list index out of range'", "Why do I get an IndexError saying list index out of range?"),
    ),
    "unit tests": (
        ("Write unit tests for the tax function", "Add tests that cover the tax function"),
        ("Write tests for the date parser", "Unit-test the parser of dates"),
        ("Test the login form with wrong passwords", "Write test cases for bad passwords in the login form"),
        ("Write pytest tests for the CSV reader", "Cover the CSV reader with pytest"),
        ("Add a regression test for the rounding bug", "Write a test that would have caught the rounding bug"),
        ("Write property tests for the sort", "Test the sort with hypothesis"),
    ),
    "summary": (
        (
            "Summarize the minutes of the meeting in five bullets",
            "Give me the meeting's minutes as five bullet points",
        ),
        ("Summarize this article for a manager", "Executive summary of the article below"),
        ("Sum up the customer interviews", "What did customers say in the interviews? Short version."),
        ("Write a summary of the incident last night", "Recap last night's outage in a few sentences"),
        ("TL;DR of the thread about pricing", "Shorten the pricing discussion to its main points"),
        ("Summarize the contract's notice periods", "Which notice periods does the contract have? Briefly."),
    ),
    "translation": (
        ("Translate the menu into German", "German version of the menu, please"),
        ("Translate this press release to French", "Put the press release into French"),
        ("Translate the error messages into Spanish", "Localize our error messages for Spain"),
        ("Translate the privacy policy into plain English", "Rewrite the privacy policy in simple English"),
        ("Translate the invitation to Polish", "How do I say this invitation in Polish?"),
        ("Translate the manual of the dryer into Dutch", "Make a Dutch translation of the dryer's manual"),
    ),
    "decision brief": (
        ("Write a brief on the new kiln", "Prepare a short paper about buying the new kiln"),
        ("Write a brief on night buses", "Brief the council on night buses"),
        ("Brief on a booking app", "I need a decision paper on the booking app"),
        ("Write a brief on onboarding", "Draft a briefing about onboarding"),
        ("Write a brief on price tiers", "One-page brief about the price tiers"),
        ("Advise on moving to Kubernetes", "Write a brief on whether we should move to Kubernetes"),
    ),
}
