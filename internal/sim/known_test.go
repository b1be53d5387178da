package sim

import "testing"

// The plans in testdata fail when a guard is off, and hold with all guards on. TestASwitchedOffGuardIsFound runs them so.

// Shrink has made this plan smaller: two processes, and calls of the worker that arrive once more, for a second.
func TestThePlanForTheCursorOfAPlacement(t *testing.T) { holds(t, "testdata/cursor.json") }

// In this plan an enqueuer gets no reply for a moment, so that it sends its call again. Its rights are checked, and its script is loaded, by a call before.
func TestThePlanForTheNumberOfACall(t *testing.T) { holds(t, "testdata/caller.json") }

// An item of a batch is followed by a member in another queue, which is paused. Nothing but the item shows the batch's home that this queue has members.
func TestThePlanForAMemberThatWasCarried(t *testing.T) { holds(t, "testdata/carried.json") }

// In this plan half of the replies to the creator of a batch are lost, so that it sends the items again.
func TestThePlanForThePositionOfAnItem(t *testing.T) { holds(t, "testdata/position.json") }

// Dead members of batches that have ended are requeued, and then are done.
func TestThePlanForTheJobEndedOfABatch(t *testing.T) { holds(t, "testdata/ended.json") }

// holds runs a plan three times: chime draws random numbers.
func holds(t *testing.T, file string) {
	t.Helper()
	plan, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if result := Simulate(t, plan, true); len(result.Findings) > 0 {
			t.Fatalf("%s\n%s", plan, describe(result))
		}
	}
}
