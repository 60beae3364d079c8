"""A kind of product, somebody who sells it, and a country to send it to."""

from oscar.core.loading import get_model


def fill() -> None:
    get_model("catalogue", "ProductClass").objects.create(name="Book", slug="book")
    get_model("partner", "Partner").objects.create(name="Harbour Books", code="harbour")
    get_model("address", "Country").objects.create(
        iso_3166_1_a2="NL", printable_name="The Netherlands", name="Netherlands"
    )
