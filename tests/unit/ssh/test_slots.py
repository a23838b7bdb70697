from sshfacts.ssh.slots import LEAKS_ALLOWED, LONE_REFUSALS_ALLOWED, Slots


def test_a_refusal_beside_others_lowers_the_number():
    slots = Slots(4)
    slots.taken = 3
    slots.refused()
    assert (slots.most, slots.is_free, slots.has_refused, slots.is_used_up) == (2, False, True, False)
    slots.taken = 4  # others were on their way already, and teach nothing new
    slots.refused()
    assert slots.most == 2


def test_the_number_never_falls_below_one():
    slots = Slots(4)
    for slots.taken in (2, 1, 1):
        slots.refused()
    assert slots.most == 1


def test_refusals_with_nothing_in_flight_use_a_connection_up():
    slots = Slots(4)
    slots.taken = 1
    for _ in range(LONE_REFUSALS_ALLOWED - 1):
        slots.refused()
    slots.opened()
    for _ in range(LONE_REFUSALS_ALLOWED - 1):
        slots.refused()
    assert not slots.is_used_up
    slots.refused()
    assert slots.is_used_up


def test_leaks_use_a_connection_up():
    slots = Slots(4)
    for _ in range(LEAKS_ALLOWED):
        slots.leaked()
        slots.opened()
    assert not slots.is_used_up
    slots.leaked()
    assert slots.is_used_up
