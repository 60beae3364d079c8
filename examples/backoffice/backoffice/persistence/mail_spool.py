"""The mail spool: one file for each mail, in a folder that a mail server empties. What was picked up is gone."""

from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path


class MailSpool:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, number: int, *, sender: str, subject: str, body: str) -> Path:
        """Write one mail, complete or not at all."""
        mail = EmailMessage(policy=SMTP)
        mail["From"] = f"{_address_part(sender)}@backoffice.invalid"
        mail["Subject"] = subject
        mail.set_content(body)
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{number:08}.eml"
        unfinished = path.with_suffix(".part")
        unfinished.write_bytes(bytes(mail))
        return unfinished.rename(path)


def _address_part(name: str) -> str:
    """A name as the part of an address before the @."""
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name) or "-"
