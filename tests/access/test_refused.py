"""What says that packages are missing needs none of them."""

import subprocess
import sys

from handfast.access.refused import NEEDS_EXTRA, AuthRefused

EXTRA = ("cryptography", "joserfc", "pydantic")


def test_a_gateway_without_the_extra_packages_knows_how_to_say_so() -> None:
    hidden = "; ".join(f"sys.modules[{name!r}] = None" for name in EXTRA)
    code = f"import sys; {hidden}; import handfast.gateway.serving, handfast.access.refused"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert ".[access]" in NEEDS_EXTRA


def test_a_refusal_has_a_rule_for_the_record_and_a_text_for_the_caller() -> None:
    refused = AuthRefused("auth.expired", "The token has expired.")
    assert (refused.rule, refused.text, str(refused)) == ("auth.expired", "The token has expired.", refused.text)
