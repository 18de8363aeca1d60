"""The lane: one turn at a time, fair, bounded, and possible to leave."""

import asyncio
import multiprocessing
import threading
from collections.abc import Callable

import pytest

from clef_model.lane import Lane, LaneFull, Ticket


def nothing() -> None:
    pass


def joined(lane: Lane, order: list[str], surface: str, client: str = "") -> Ticket:
    return lane.join(surface, client, lambda: order.append(f"{surface}{client}"))


def served(lane: Lane, *places: tuple[str, str]) -> list[str]:
    """The order in which places taken in this order get their turns, while somebody else holds the lane."""
    order: list[str] = []
    held = lane.join("holder", "", nothing)
    tickets = [joined(lane, order, surface, client) for surface, client in places]
    lane.leave(held)
    for _ in places:
        running = next(ticket for ticket in tickets if ticket.began is not None)
        tickets.remove(running)
        lane.leave(running)
    return order


def test_the_first_gets_its_turn_at_once_and_the_next_when_it_leaves() -> None:
    lane, order = Lane(), list[str]()
    first = joined(lane, order, "api", "1")
    second = joined(lane, order, "api", "2")
    assert order == ["api1"]
    lane.leave(first)
    assert order == ["api1", "api2"]
    lane.leave(second)
    assert lane.state().running is None


def test_page_and_api_alternate_however_many_wait() -> None:
    places = [("api", ""), ("api", ""), ("api", ""), ("page", ""), ("page", "")]
    assert served(Lane(), *places) == ["api", "page", "api", "page", "api"]


def test_clients_of_a_surface_alternate_too() -> None:
    places = [("api", "a"), ("api", "a"), ("api", "a"), ("api", "b"), ("api", "c")]
    assert served(Lane(), *places) == ["apia", "apib", "apic", "apia", "apia"]


def test_one_client_is_served_in_the_order_it_came() -> None:
    lane, order = Lane(), list[int]()
    held = lane.join("api", "", nothing)
    tickets = [lane.join("api", "", lambda place=place: order.append(place)) for place in range(5)]  # type: ignore[misc]
    for ticket in [held, *tickets]:
        lane.leave(ticket)
    assert order == [0, 1, 2, 3, 4]


def test_who_leaves_while_waiting_is_passed_over() -> None:
    lane, order = Lane(), list[str]()
    held = lane.join("api", "", nothing)
    gone = joined(lane, order, "api", "gone")
    joined(lane, order, "api", "stays")
    lane.leave(gone)
    lane.leave(held)
    assert order == ["apistays"]


def test_a_full_lane_says_how_many_wait_and_when_to_come_back() -> None:
    lane = Lane(max_waiting=2)
    for _ in range(3):
        lane.join("api", "", nothing)
    with pytest.raises(LaneFull) as raised:
        lane.join("api", "", nothing)
    assert str(raised.value) == "The queue for the model holds 2 requests already, its limit. Try again in about 2 s."
    assert raised.value.retry_after == 2


def test_a_flood_on_one_surface_leaves_room_on_the_other() -> None:
    lane = Lane(max_waiting=1)
    lane.join("api", "", nothing)
    lane.join("api", "", nothing)
    lane.join("page", "", nothing)
    assert lane.state().waiting == {"api": 1, "page": 1}


def test_one_client_cannot_take_every_place() -> None:
    lane = Lane(max_waiting=10, max_waiting_per_client=1)
    lane.join("api", "a", nothing)
    lane.join("api", "a", nothing)
    lane.join("api", "b", nothing)
    with pytest.raises(LaneFull) as raised:
        lane.join("api", "a", nothing)
    expected = "The queue for the model holds 1 request of yours already, its limit. Try again in about 1 s."
    assert str(raised.value) == expected


def test_a_thread_that_has_the_turn_keeps_it_when_it_asks_again() -> None:
    lane = Lane()
    with lane.turn("page"), lane.turn("page"):
        assert lane.state().running == "page"
    assert lane.state().running is None


def test_who_waits_can_look_up_and_stop() -> None:
    class Stop(Exception):
        pass

    def stop() -> None:
        raise Stop

    lane = Lane()
    held = lane.join("api", "", nothing)
    with pytest.raises(Stop), lane.turn("page", stop):
        raise AssertionError("the turn never came")
    assert lane.state().waiting == {}
    lane.leave(held)


def test_a_turn_ends_when_its_work_fails() -> None:
    lane = Lane()
    with pytest.raises(ZeroDivisionError), lane.turn("page"):
        raise ZeroDivisionError
    assert lane.state().running is None


def test_a_task_holds_the_turn_for_the_threads_it_starts() -> None:
    lane = Lane()

    def nested() -> None:
        with lane.turn("page"):
            pass

    async def work() -> None:
        async with lane.turn_of("api", "a"):
            await asyncio.to_thread(nested)

    asyncio.run(asyncio.wait_for(work(), 10))
    assert lane.state().turns == 1


def test_a_cancelled_task_leaves_the_lane() -> None:
    lane = Lane()
    held = lane.join("page", "", nothing)

    async def wait() -> None:
        async with lane.turn_of("api", "a"):
            raise AssertionError("the turn never came")

    async def work() -> None:
        task = asyncio.create_task(wait())
        while not lane.state().waiting:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())
    assert lane.state().waiting == {}
    lane.leave(held)


def test_a_ticket_whose_event_loop_has_ended_is_passed_over() -> None:
    lane, order = Lane(), list[str]()
    held = lane.join("page", "", nothing)

    def closed() -> None:
        raise RuntimeError("Event loop is closed")

    lane.join("api", "a", closed)
    joined(lane, order, "api", "b")
    lane.leave(held)
    assert order == ["apib"]


def test_threads_and_tasks_never_hold_the_model_together() -> None:
    lane, inside, most = Lane(), list[int](), list[int]()

    def work() -> None:
        inside.append(1)
        most.append(len(inside))
        inside.pop()

    def thread() -> None:
        for _ in range(50):
            with lane.turn("page"):
                work()

    async def task(name: str) -> None:
        for _ in range(50):
            async with lane.turn_of("api", name):
                await asyncio.to_thread(work)

    async def tasks() -> None:
        await asyncio.gather(*(task(str(name)) for name in range(4)))

    threads = [threading.Thread(target=thread) for _ in range(2)]
    for one in threads:
        one.start()
    asyncio.run(tasks())
    for one in threads:
        one.join()
    assert set(most) == {1}
    assert lane.state().turns == 300


def _take_a_turn(lane: Lane, put: Callable[[int], None]) -> None:
    with lane.turn("page"):
        put(lane.state().turns)


def test_a_forked_process_does_not_wait_for_the_turns_of_its_parent() -> None:
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    lane = Lane()
    with lane.turn("api"):
        child = context.Process(target=_take_a_turn, args=(lane, results.put))
        child.start()
        child.join(60)
    assert child.exitcode == 0
    assert results.get() == 0
