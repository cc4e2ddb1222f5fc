"""What holds on SQLite holds on PostgreSQL: the same tests of the service, on a real server."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.service.conftest import Service, started
from tests.service.test_client import (
    decider,
    remote,
    test_a_decider_does_the_same_wherever_it_is,
    test_calls_can_be_awaited,
    test_items_are_named_or_filtered,
)
from tests.service.test_handlers import (
    test_a_catalogue_comes_in_any_of_four_forms_and_is_seen_by_other_processes,
    test_a_decider_is_made_once_and_the_same_again_is_harmless,
    test_a_decision_is_explained,
    test_ask_and_tell_do_what_a_decider_of_the_same_seed_does,
    test_features_are_learnt_from_the_first_catalogue_and_context_comes_with_the_call,
    test_outcomes_are_told_all_or_none,
    test_overdue_decisions_are_settled_as_declared,
    test_rows_may_be_sent_with_the_request,
    test_several_items_are_chosen_one_after_another,
    test_texts_of_users_come_back_as_they_were,
    test_the_audit_says_what_the_deciders_own_does,
    test_the_log_is_the_file_that_export_writes,
    test_the_same_id_has_the_same_answer,
)
from tests.service.test_server import (
    test_an_error_of_one_request_is_not_that_of_the_others_it_is_worked_on_with,
    test_metrics_count_what_the_ledger_has,
)

if TYPE_CHECKING:
    from tests.databases import Server

__all__ = [
    "decider",
    "remote",
    "running",
    "test_a_catalogue_comes_in_any_of_four_forms_and_is_seen_by_other_processes",
    "test_a_decider_does_the_same_wherever_it_is",
    "test_a_decider_is_made_once_and_the_same_again_is_harmless",
    "test_a_decision_is_explained",
    "test_an_error_of_one_request_is_not_that_of_the_others_it_is_worked_on_with",
    "test_ask_and_tell_do_what_a_decider_of_the_same_seed_does",
    "test_calls_can_be_awaited",
    "test_features_are_learnt_from_the_first_catalogue_and_context_comes_with_the_call",
    "test_items_are_named_or_filtered",
    "test_metrics_count_what_the_ledger_has",
    "test_outcomes_are_told_all_or_none",
    "test_overdue_decisions_are_settled_as_declared",
    "test_rows_may_be_sent_with_the_request",
    "test_several_items_are_chosen_one_after_another",
    "test_texts_of_users_come_back_as_they_were",
    "test_the_audit_says_what_the_deciders_own_does",
    "test_the_log_is_the_file_that_export_writes",
    "test_the_same_id_has_the_same_answer",
]
pytestmark = pytest.mark.filterwarnings("ignore:the arms offered so far:UserWarning")


@pytest.fixture(scope="module")
def running(postgresql: "Server") -> Iterator[Service]:
    """Give a service on PostgreSQL, in the place of the one on SQLite."""
    yield from started(postgresql.database())


def test_it_is_postgresql_that_is_served(running: Service) -> None:
    assert not running.hub.store.database.sqlite
