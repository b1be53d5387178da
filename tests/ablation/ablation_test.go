//go:build real && unix

package ablation_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chimejobs/chime/internal/long"
)

// A guard is a check that prevents a lost or doubled job, or data in clear where they are sealed. The field off is the replacement that switches it off. A test must then
// fail.
type guard struct {
	name  string
	file  string
	on    string
	off   string
	in    string // the package of the test
	finds string // the test, or a test of the store suite
}

var guards = []guard{
	{"cursor of a placement", "redisstore/scripts/schedules/place.lua", " or now_cursor ~= plan.cursor", "", "redisstore", "TestAnOccurrenceIsPlacedOnce"},
	{"mark of an earlier schedule", "redisstore/scripts/schedules/place.lua", "not voids(body, created[i])", "false", "redisstore", "TestACancellationEndsWithItsSchedule"},
	{"local time of a placement", "redisstore/scripts/schedules/place.lua", "tonumber(ARGV[plan.first + 2]) <= used_time", "0 < 0", "redisstore", "TestNoLocalTimeIsTakenTwice"},
	{"cursor of a withdrawn occurrence", "redisstore/scripts/lib/call.lua", "kind ~= 'p' or not at_cursor(call, name, planned) or ", "", "redisstore", "TestAReplannedOccurrenceGoesBackToItsSchedule"},
	{"what replan has read", "redisstore/scripts/schedules/replan.lua", "stored == seen and ", "", "redisstore", "TestReplanComparesWhatTheCallerHasRead"},
	{"declaration that was carried out", "redisstore/scripts/schedules/declare.lua", " and answered(KEYS[14], ARGV[at + 19]) then", " and false then", "redisstore", "TestADeclarationWithALostAnswerIsCarriedOutOnce"},
	{"pause that was carried out", "redisstore/scripts/schedules/pause_schedule.lua", "if answered(KEYS[20], ARGV[14]) then", "if false then", "redisstore", "TestAPauseSentAgainAfterAResumptionChangesNothing"},
	{"what was created after a deletion began", "redisstore/schedules_remove.go", "there.created.After(created)", "false", "redisstore", "TestADeletionThatIsSentAgainKeepsWhatWasCreatedMeanwhile"},
	{"revision of a placement", "redisstore/scripts/schedules/place.lua", " or h.revision ~= plan.revision", "", "redisstore", "TestStore/PlacingForAnEarlierRevisionIsLost"},
	{"session before a write", "redisstore/scripts/sessions/work.lua", "if not last and (header or number ~= 1 or settled > 0 or redis.call('ZSCORE', KEYS[17], session)) then", "if false then", "redisstore", "TestStore/ASessionBeingReapedCannotStartAgain"},
	{"number of a session's call", "redisstore/scripts/sessions/work.lua", "local again = last == number", "local again = false", "redisstore", "TestStore/ARepeatedWorkCallGetsTheSameAnswerAndWritesNothing"},
	{"cursor of a placement, in a simulation", "redisstore/scripts/schedules/place.lua", " or now_cursor ~= plan.cursor", "", "internal/sim", "TestThePlanForTheCursorOfAPlacement"},
	{"partition to which a member was carried, in a simulation", "redisstore/scripts/outbox/advance_outbox.lua", "          note_target(counts, batch, target)\n", "", "internal/sim", "TestThePlanForAMemberThatWasCarried"},
	{"position of an item, in a simulation", "redisstore/scripts/jobs/enqueue.lua", "fill.passed + math.max(math.min(last, c.position) - first + 1, 0)", "0", "internal/sim", "TestThePlanForThePositionOfAnItem"},
	{"job Ended of a batch, in a simulation", "redisstore/scripts/batches/end_batch.lua", "local ends = not record.ended", "local ends = true", "internal/sim", "TestThePlanForTheJobEndedOfABatch"},
	{"number of a caller's call, in a simulation", "redisstore/scripts/jobs/enqueue.lua", "local again = ahead == 0", "local again = false", "internal/sim", "TestThePlanForTheNumberOfACall"},
	{"term of a leader", "redisstore/scripts/leader/lead.lua", "then term = term + 1 end", "then end", "tests/real", "TestTermsOfLeadersAreLinearizable"},
	{"revision to change, judged by a solver", "redisstore/scripts/schedules/declare.lua", "declared.expected ~= '' and declared.expected ~= h.revision)", "false)", "tests/real", "TestAPutWithARevisionIsACompareAndSet"},
	{"job of an ID that exists", "redisstore/scripts/jobs/enqueue.lua", "(again or stored[id] or", "(again or", "tests/real", "TestIDsAreLinearizable"},
	{"number of a caller's call", "redisstore/scripts/jobs/enqueue.lua", "local again = ahead == 0", "local again = false", "redisstore", "TestStore/ARepeatedEnqueueCallAddsNothing"},
	{"number of a seal", "redisstore/scripts/jobs/seal.lua", "if at == seal then return { now_us, NEVER } end", "", "redisstore", "TestStore/ASealedCallIsCarriedOutBeforeOrNever"},
	{"seal of a call that did not arrive", "redisstore/scripts/jobs/seal.lua", "redis.call('ZADD', CALLERS, whole(since_s * ROUND + seal), ARGV[1])", "", "redisstore", "TestStore/ASealedCallIsCarriedOutBeforeOrNever"},
	{"fence of a settlement", "redisstore/scripts/sessions/work/settlements.lua", "if holds ~= fence and holds ~= '-' .. fence then", "if not holds then", "redisstore", "TestStore/ASettlementNeedsTheFence"},
	{"second check before reaping", "redisstore/scripts/sessions/reap.lua", " or tonumber(lapse) ~= tonumber(ARGV[2])", "", "redisstore", "TestStore/ReapingNeedsTheLapseThatWasSeen"},
	{"working at maxmemory", "redisstore/scripts/schedules/postpone.lua", "redis.call('ZREM', KEYS[1], '')", "", "redisstore", "TestAtMaxmemoryLapsedSessionsAreReportedAndTheLeaderKeepsItsLease"},
	{"crash cap", "internal/work/admit.go", "case taken.Crashes-taken.Uncertain >= a.config.MaxCrashes:", "case false:", "tests/workers", "TestAJobWhoseWorkersVanishedThreeTimesIsDead"},
	{"mark of a job that may have begun", "redisstore/scripts/sessions/reap.lua", "if (crashes_in(text or '0') or 0) == 0 then entries[unbegun[i]] = 'v' end", "", "redisstore", "TestAJobTakenAheadIsMarkedWhenItsHolderVanishes"},
	{"jobs that are not taken ahead", "redisstore/scripts/lib/suspects.lua", "      vanished = true\n", "", "redisstore", "TestAJobWhoseHolderVanishedIsNotTakenAhead"},
	{"other jobs beside a suspect", "redisstore/scripts/sessions/reap.lua", " or not beside then", " or true then", "redisstore", "TestACrashOfASuspectBesideAnotherJobIsUncertain"},
	{"jobs of other queues beside a suspect", "internal/work/beside.go", "call.Beside = b.state != alone", "call.Beside = false", "tests/workers", "TestAJobOfAnotherQueueCountsBesideASuspect"},
	{"limit of running jobs", "redisstore/scripts/lib/queuelimit.lua", "if limit.running > 0 then most = limit.running - math.max(limit.flights - ending, 0) end", "", "tests/real", "TestALimitIsASemaphore"},
	{"starts of a limit", "redisstore/scripts/lib/queuelimit.lua", "limit.starts - math.max(limit.used - back, 0)", "limit.starts", "redisstore", "TestRandomCallsUnderALimitCountWhatIsHeld"},
	{"limit that cannot be read", "redisstore/scripts/lib/queuelimit.lua", "if limit.unreadable then return 0 end\n  local most", "local most", "redisstore", "TestALimitThatNobodyCanReadHoldsTheQueue"},
	{"clamp of lapses", "redisstore/scripts/lib/lapse.lua", "if lapse ~= ms then", "lapse = ms or lapse\n  if false then", "redisstore", "TestALapseTooFarAheadIsCorrected"},
	{"body of a job to bury", "redisstore/scripts/jobs/bury.lua", " and text == job.read", "", "redisstore", "TestABurialNeedsTheJobAsItWasRead"},
	{"retention of a job to bury", "redisstore/scripts/jobs/bury.lua", " and (tonumber(at) or 0) <= now_ms - tonumber(ARGV[1])", "", "redisstore", "TestAJobThatWasParkedAgainIsNotBuried"},
	{"layout of a job that may be followed", "redisstore/jobs_enqueue.go", " && !c.Items[0].Follows", "", "redisstore", "TestAJobThatMayBeFollowedIsNotAddedByTheShortScript"},
	{"end that a job follows", "redisstore/scripts/lib/settle.lua", "settle(call, cancels[i], name, planned, 'c',", "settle(call, cancels[i], name, planned, 'd',", "redisstore", "TestNothingFollowsACancelledOrReplacedJob"},
	{"settlement that a job follows", "redisstore/scripts/sessions/work/settlements.lua", "if follows then follows.without[i - follows.first] = true end", "", "redisstore", "TestBothPathsAddWhatFollows"},
	{"follower of a newer version", "internal/work/claim.go", "if _, err := c.message.Details.Followers(); errors.Is(err, wire.ErrNewerVersion) {", "if err := wire.ErrNewerVersion; false {", "tests/jobs", "TestAJobThatANewerVersionFollowsIsParked"},
	{"mark that a carry continues", "redisstore/scripts/outbox/carry.lua", "if mark ~= after then\n  first = nil", "if false then\n  first = nil", "redisstore", "TestACarryThatDoesNotContinueTheMarkAddsNothing"},
	{"order of a carry", "redisstore/scripts/outbox/carry.lua", "if not number or number <= above then first = nil end", "", "redisstore", "TestACarryThatDoesNotContinueTheMarkAddsNothing"},
	{"ID in the mark of a target", "redisstore/scripts/outbox/carry.lua", "if whole(tonumber(ARGV[i])) .. ' ' .. ARGV[i + 1] == mark then", "if whole(tonumber(ARGV[i])) == match(mark, '^%d+') then", "redisstore", "TestACarryThatDoesNotContinueTheMarkAddsNothing"},
	{"entry of a newer version", "redisstore/scripts/outbox/carry.lua", "if not due_ms or note ~= '' then", "if not due_ms then", "redisstore", "TestAnEntryOfANewerVersionWaits"},
	{"age of a mark", "redisstore/scripts/outbox/carry.lua", "tonumber(match(some[i + 1], '\\t(%d+)$') or match(some[i + 1], '^@?(%d+)') or 0)", "tonumber(match(some[i + 1], '^@?(%d+)') or 0)", "redisstore", "TestTheMarkOfALineThatWasBlockedForLongIsKept"},
	{"marks of a deleted queue", "redisstore/scripts/outbox/carry.lua", "redis.call('PERSIST', INBOX)", "redis.call('HLEN', INBOX)", "redisstore", "TestMarksOfADeletedQueueThatIsUsedAgainDoNotExpire"},
	{"first entry of an address", "redisstore/scripts/outbox/address_outbox.lua", "if not first or first ~= line .. '\\t' .. ARGV[2] then", "if not first then", "redisstore", "TestAnAddressThatComesLateMovesNothing"},
	{"what a target that went back confirms", "redisstore/scripts/outbox/advance_outbox.lua", "if #missing > 0 then confirms = math.min(confirms, number) end", "", "redisstore", "TestAnEntryThatWasCarriedAgainIsConfirmedAgain"},
	{"late call to a line without entries", "redisstore/scripts/outbox/block_outbox.lua", "if not waits then return 0 end", "", "redisstore", "TestTheReasonWhyALineIsBlockedIsShown"},
	{"value that nobody can read", "redisstore/scripts/repair/verify_outbox.lua", "if not is_readable(value) then", "if false then", "redisstore", "TestAnEntryThatNobodyCanReadIsSetAside"},
	{"late call to a deleted outbox", "redisstore/scripts/outbox/advance_outbox.lua", "if not state[2] and n_waiting + n_kept == 0 then", "if false then", "redisstore", "TestAQueueWithALineIsNotDeleted"},
	{"loss that a late answer does not show", "redisstore/scripts/outbox/advance_outbox.lua", " and asked and asked >= noted_ms * 1000 or false", " or false", "redisstore", "TestAnEntryLeavesAfterAConfirmation"},
	{"place of a void ID that is carried", "redisstore/scripts/outbox/carry.lua", "elseif now and void[job.id] then", "elseif false then", "redisstore", "TestAnIDThatIsVoidInReadyKeepsItsPlace"},
	{"queue of a target that was deleted", "redisstore/scripts/outbox/carry.lua", "(not state[2] or #new < #jobs or first > 6) and 1 or 0", "0", "redisstore", "TestATargetThatWasDeletedIsMadeAgain"},
	{"sums of an outbox that have changed", "redisstore/scripts/repair/verify_outbox.lua", "local compares = read == before", "local compares = read", "redisstore", "TestVerifyComparesNoSumsThatHaveChanged"},
	{"job with the ID of an unreadable entry", "redisstore/scripts/repair/verify_outbox.lua", "local free = redis.call('HEXISTS', JOBS, id) == 0", "local free = true", "redisstore", "TestAnUnreadableEntryReplacesNoJob"},
	{"ID in a mark", "redisstore/scripts/outbox/advance_outbox.lua", "if its == id then return true end", "return true", "redisstore", "TestASourceThatWentBackRedrawsAndLosesNothing"},
	{"new numbers after a loss", "redisstore/scripts/outbox/advance_outbox.lua", "if knows then taken = waits else redrawn = waits end", "taken = waits", "redisstore", "TestASourceThatWentBackRedrawsAndLosesNothing"},
	{"confirmation of a carry", "redisstore/scripts/outbox/advance_outbox.lua", "asked >= noted_ms * 1000 + CONFIRMED_US", "asked >= 0", "redisstore", "TestALateAnswerConfirmsNothing"},
	{"number above a mark", "redisstore/scripts/outbox/address_outbox.lua", "sum_of(match(carried[i] or '', '^(%d+) ')) or 0", "0", "redisstore", "TestALostNumberIsNotDrawnBelowAMark"},
	{"ID of a job that is carried", "redisstore/scripts/outbox/carry.lua", "redis.call('HEXISTS', JOBS, job.id) == 0 and ", "", "redisstore", "TestAnIDThatIsVoidInReadyKeepsItsPlace"},
	{"bound of an outbox", "redisstore/scripts/sessions/work.lua", "paused = paused or box.is_full(box.sums, 1)", "paused = paused", "redisstore", "TestAFullOutboxTakesNothingAndSettles"},
	{"outbox of a deleted queue", "redisstore/scripts/queues/delete_queue.lua", "  redis.call('ZCARD', KEYS[45]),", "  0,", "redisstore", "TestAQueueWithALineIsNotDeleted"},
	{"position of an item", "redisstore/scripts/jobs/enqueue.lua", "fill.passed + math.max(math.min(last, c.position) - first + 1, 0)", "0", "redisstore", "TestABatchIsFilledSealedAndEndedOnce"},
	{"item after the seal", "redisstore/scripts/jobs/enqueue.lua", "or fill.n > 0 and c.flags ~= '-')", "or false)", "redisstore", "TestABatchIsFilledSealedAndEndedOnce"},
	{"items after a refused one", "redisstore/scripts/jobs/enqueue.lua", "    if stopped then\n      -- it is sent again\n    elseif again", "    if again", "redisstore", "TestAFillStopsAtTheItemThatIsRefused"},
	{"hash of the items of a batch", "redisstore/scripts/batches/note_fill.lua", " or record.hash ~= ARGV[2]", "", "redisstore", "TestOtherItemsAreAConflict"},
	{"partitions that are open at a seal", "redisstore/scripts/batches/seal_batch.lua", "local left, _, _, closed = sums_of(record)", "local left, closed = sums_of(record), true", "redisstore", "TestOtherItemsAreAConflict"},
	{"version of a report", "redisstore/scripts/lib/batch.lua", "  if new < old then return false, false end\n", "", "redisstore", "TestALateReportChangesNothing"},
	{"counts at the end of a batch", "redisstore/scripts/batches/end_batch.lua", "given[field] ~= text then same = false", "false then same = false", "redisstore", "TestTheEndNeedsTheLastCountsOfEachPartition"},
	{"growth at the end of a batch", "redisstore/scripts/batches/end_batch.lua", "or grows or left > 0 then", "or left > 0 then", "redisstore", "TestABatchDoesNotEndWhileItGrows"},
	{"job Ended of a batch", "redisstore/scripts/batches/end_batch.lua", "local ends = not record.ended", "local ends = true", "redisstore", "TestDoneFollowsWhenDeadMembersAreDone"},
	{"report that clears a note of growth", "redisstore/scripts/batches/report_batch.lua", "counts and #ARGV or 0 do", "#ARGV do", "redisstore", "TestAReportOfAnEarlierStateClearsNoNoteOfGrowth"},
	{"token of a process that died", "redisstore/scripts/batches/count_batch.lua", "if token ~= '' and not used then redis.call('ZADD', CALLERS, whole(now_s * ROUND + 2), token) end", "", "redisstore", "TestAJobThatWasToBeAddedIsVoidAfterThePartitionWasAsked"},
	{"partition to which a member was carried", "redisstore/scripts/outbox/advance_outbox.lua", "          note_target(counts, batch, target)\n", "", "redisstore", "TestAMemberThatFollowsInAnotherQueueIsCountedAllTheWay"},
	{"member that was carried and is lost", "redisstore/scripts/outbox/advance_outbox.lua", "for sign, entries in pairs({ [-1] = taken, [1] = missing }) do", "for sign, entries in pairs({ [-1] = taken }) do", "redisstore", "TestAMemberThatIsCarriedAgainIsAwayAgain"},
	{"fence of a member", "redisstore/scripts/sessions/work/settle.lua", "if holds == fence or holds == '-' .. fence then done = done + 1 elseif", "if holds then done = done + 1 elseif", "redisstore", "TestABatchIsFilledSealedAndEndedOnce"},
	{"version of a partition that went back", "redisstore/scripts/batches/count_batch.lua", "flags ~= c.flags or c.version < above then", "flags ~= c.flags then", "redisstore", "TestAPartitionThatWentBackIsRightAgainWhenItIsAsked"},
	{"members that are left of a lost batch", "redisstore/scripts/batches/ack_reports.lua", "  elseif left or not unknown", "  elseif not unknown", "redisstore", "TestCountsOfALostBatchAreRemovedADayLater"},
	{"counts that the home has had", "redisstore/scripts/batches/ack_reports.lua", "  if c.absent then\n", "  if c.absent or same and not left and not unknown then\n", "redisstore", "TestAHomeThatWentBackGetsTheCountsAgain"},
	{"counts of a lost batch that have changed", "redisstore/scripts/batches/ack_reports.lua", "  elseif not same then\n", "  elseif false then\n", "redisstore", "TestCountsOfALostBatchThatHaveChangedAreKept"},
	{"member of a cancelled batch in a take", "redisstore/scripts/sessions/work/take.lua", "    if void and void[id] then text = nil end\n", "", "redisstore", "TestATakeEndsMembersOfACancelledBatch"},
	{"dead member of a cancelled batch", "redisstore/scripts/jobs/requeue.lua", "  elseif dead[i] and revoked and revoked[id] then\n", "  elseif false then\n", "redisstore", "TestADeadMemberOfACancelledBatchIsNotRequeued"},
	{"batches of a deleted queue", "redisstore/scripts/queues/delete_queue.lua", "redis.call('HLEN', KEYS[51]),", "0,", "redisstore", "TestAQueueIsNotDeletedBeforeItsBatchesHaveEnded"},
	{"batch of a job that is replaced", "redisstore/scripts/jobs/replace.lua", "if present ~= batch then return { now_us, 6 } end", "", "redisstore", "TestEveryEndOfAMemberIsCounted"},
	{"one death for each job", "redisstore/scripts/jobs/bury.lua", "if before[i] then job.body, job.follows = '', '' end", "", "redisstore", "TestAJobThatIsParkedTwiceDiesOnce"},
	{"line before ready", "redisstore/scripts/jobs/discard.lua", "elseif grouped.members[i] then", "elseif false then", "redisstore", "TestAJobOfAGroupCanBeDiscarded"},
	{"group of a requeued job", "redisstore/scripts/jobs/requeue.lua", "if grouped.entries[i] then", "if false then", "redisstore", "TestAJobOfAGroupIsRequeuedBeforeTheOthersOfItsGroup"},
	{"pause of a group", "redisstore/scripts/lib/groups.lua", "not rule.paused and ", "", "redisstore", "TestAPausedGroupStartsNothing"},
	{"flights that a group may have", "redisstore/scripts/lib/groups.lua", "(rule.running == 0 or g.flights < rule.running)", "true", "redisstore", "TestWhoEndsTheLastFlightWakesASleeper"},
	{"starts that a group may have", "redisstore/scripts/lib/groups.lua", "rule.starts > 0 and starts_of.count(g) >= rule.starts and 'o' or 't'", "'t'", "redisstore", "TestStartsOfAGroupWhenTheClockStepsBack"},
	{"blocker of a group", "redisstore/scripts/lib/groups.lua", "g.blocker and not resumes", "false", "redisstore", "TestTheEndOfABlockerStartsTheNext"},
	{"blocker that was given back", "redisstore/scripts/sessions/work/groups.lua", "if unbegun then fn.return_turn(first_ones, g) end\n", "if unbegun then fn.return_turn(first_ones, g); fn.unblock(g, id) end\n", "redisstore", "TestABlockerThatIsGivenBackUnbegunIsNotOvertaken"},
	{"flight of an ordered group", "redisstore/scripts/lib/groups.lua", "rule.ordered and (g.flights > 0 or ", "rule.ordered and (false or ", "redisstore", "TestAnOrderedRuleWaitsForWhatRuns"},
	{"end of a group's flight", "redisstore/scripts/lib/groups.lua", "math.max(g.flights - n, 0)", "g.flights", "redisstore", "TestWhoEndsTheLastFlightWakesASleeper"},
	{"end of a finished job's flight", "redisstore/scripts/sessions/work/groups.lua", "if flights > 0 then g.flights = flights - 1 end", "", "redisstore", "TestGroupsTakeTurns"},
	{"end of a flight of a usual group", "redisstore/scripts/lib/light.lua", "flights - 48 - less or rule.simple", "flights - 48 or rule.simple", "redisstore", "TestGroupsWithoutOwnRulesGetTheSameTurns"},
	{"line of a usual group whose flight ends", "redisstore/scripts/lib/light.lua", "      if read[1] then tags[i], f,", "      if true then tags[i], f,", "redisstore", "TestGroupsWithoutOwnRulesGetTheSameTurns"},
	{"limit of a usual group that starts a job", "redisstore/scripts/lib/light.lua", "fresh[2] and flights + 1 < rule.simple or false", "fresh[2] and true or false", "redisstore", "TestGroupsWithoutOwnRulesGetTheSameTurns"},
	{"other slots of a usual group", "redisstore/scripts/lib/light.lua", "stays and may_have_more(all, flights + 1, 1, left) or ", "", "redisstore", "TestGroupsWithoutOwnRulesGetTheSameTurns"},
	{"usual group whose job is not taken", "redisstore/scripts/lib/turns.lua", "  read_picked(all)\n  all.new_from = nil", "  all.new_from = nil", "redisstore", "TestGroupsWithoutOwnRulesGetTheSameTurns"},
	{"short call that is sent again", "redisstore/scripts/sessions/work_few.lua", "if string.sub(header, 1, behind) ~= ARGV[2] .. ' ' then return 0 end", "", "redisstore", "TestFewJobsAreWorkedAsMany"},
	{"fence of a job in a short call", "redisstore/scripts/sessions/work_few.lua", "if held[i + 1] ~= ARGV[6 + done + i] then return 0 end", "", "redisstore", "TestFewJobsAreWorkedAsMany"},
	{"unusual field of a partition", "redisstore/scripts/sessions/work_few.lua", "if more > 0 or others[3] and", "if others[3] and", "redisstore", "TestFewJobsAreWorkedAsMany"},
	{"starts of a group whose flight ends", "redisstore/scripts/lib/light.lua", "if starts then starts[i] = those end", "if starts then starts[i] = '' end", "redisstore", "TestGroupsWithoutOwnRulesGetTheSameTurns"},
	{"turn of a usual group whose flight ends", "redisstore/scripts/lib/turns.lua", "if flights and not (last and last < tags[i]) then", "if false then", "redisstore", "TestGroupsWithoutOwnRulesGetTheSameTurns"},
	{"turns that a purge has emptied", "redisstore/scripts/lib/groups.lua", "    if not score then\n", "    if false then\n", "redisstore", "TestAPurgeOfAGroupBesideItsWork"},
	{"due job of a group", "redisstore/scripts/sessions/work/candidates.lua", "if grouped then due = grouped.fn.split_due(", "if false then due = grouped.fn.split_due(", "redisstore", "TestADelayedJobOfAGroupJoinsTheLine"},
	{"parked job of a group", "redisstore/scripts/sessions/work/candidates.lua", "if grouped then grouped.fn.bounce_parked(", "if false then grouped.fn.bounce_parked(", "redisstore", "TestGroupsStaySoundWhateverHappens"},
	{"jobs that a group may have waiting", "redisstore/scripts/jobs/enqueue.lua", "(grouped.of[group].waits or waits(group)) >= grouped.of[group].rule.waiting", "false", "redisstore", "TestAGroupThatIsFullAcceptsNoMore"},
	{"limit of bytes", "redisstore/scripts/lib/bytes.lua", "bytes > CALL_BYTES", "false", "redisstore", "TestStore/ATakeReturnsAboutAMebibyteAtMost"},
	{"an ID is in the list once", "redisstore/scripts/jobs/enqueue.lua", "local list = void[id] and revived or ready", "local list = ready", "redisstore", "TestACancelledIDThatIsEnqueuedAgainHasItsOldPlace"},
	{"name of a backfill's call", "redisstore/scripts/schedules/backfill.lua", "if before then return", "if false then return", "redisstore", "TestABackfillThatIsSentTwicePlacesOnce"},
	{"revision of a backfill", "redisstore/scripts/schedules/backfill.lua", "h.revision ~= ARGV[4] or ", "", "redisstore", "TestABackfillOfAnotherRevisionIsAConflict"},
	{"sessions of a backfill", "redisstore/scripts/schedules/backfill.lua", "if not known[session] then", "if known[session] == 0 then", "redisstore", "TestWhatANewSessionTakesIsNotBackfilled"},
	{"sessions of a repair", "redisstore/scripts/repair/verify_job.lua", "if not known[session] then", "if known[session] == 0 then", "redisstore", "TestAFaultThatHasDisappearedIsNotRepaired"},
	{"line is no lost place", "redisstore/scripts/repair/verify_job.lua", "if grouped.members[i] then stands(i, 'l') end", "if false then stands(i, 'l') end", "redisstore", "TestVerifyKnowsTheJobsOfGroups"},
	{"turn of groups beside due jobs", "redisstore/scripts/sessions/work/candidates.lua", "grouped.waits = grouped.w > 0", "grouped.waits = false", "redisstore", "TestASingleSlotAlternatesBetweenDueJobsAndGroups"},
	{"occurrence in line was not taken", "redisstore/scripts/lib/withdraw.lua", "if not due_ms and not (lined and lined.member_of(id)) then", "if not due_ms then", "redisstore", "TestAnOccurrenceInLineWasNotTaken"},
	{"occurrence in line is placed", "redisstore/scripts/repair/verify_schedules.lua", "or find_grouped(state[2], KEYS[10], KEYS[9], { id }).members[1]", "", "redisstore", "TestAnOccurrenceInLineWasNotTaken"},
	{"occurrence in line is cancelled for its schedule", "redisstore/scripts/jobs/discard.lua", "elseif grouped.members[i] and name and not bodies[i] and not crashes[i] and stands(i) then", "elseif false then", "redisstore", "TestAnOccurrenceInLineWasNotTaken"},
	{"occurrence that a purge returns", "redisstore/scripts/queues/purge.lua", "if #returns > 0 then redis.call('ZADD', LINE, unpack(returns)) end", "", "redisstore", "TestAnOccurrenceInLineWasNotTaken"},
	{"occurrence that a purge of its group leaves", "redisstore/scripts/groups/purge_group.lua", "if not is_occurrence(id) then", "if true then", "redisstore", "TestAnOccurrenceInLineWasNotTaken"},
	{"new occurrence of a group", "redisstore/scripts/lib/overlap.lua", "call.from[i] == 'g') and not (call.crashes and call.crashes[i])", "false)", "redisstore", "TestAnOccurrenceThatReturnsToItsGroupIsNotNew"},
	{"mark of an occurrence that was given back", "redisstore/scripts/lib/settle.lua", "if name and body == '' and call.grouped[id] then call.came_back[#call.came_back + 1] = id end -- likewise", "", "redisstore", "TestAnOccurrenceThatReturnsToItsGroupIsNotNew"},
	{"way for the retry of an ordered group", "redisstore/scripts/lib/overlap.lua", "call.give_way and call.give_way(id, open_id)", "nil", "redisstore", "TestABackfillInAnOrderedGroupWaitsForRetries"},
	{"jobs that gather have not begun", "redisstore/scripts/sessions/work/take.lua", "many and many.gathers and many.gathers(id, text, crashes and crashes[i])", "false", "redisstore", "TestATakeMarksJobsThatGather"},
	{"jobs that have crashed do not gather", "redisstore/scripts/sessions/work/take.lua", "if crash or ruled[id] then", "if ruled[id] then", "redisstore", "TestATakeMarksJobsThatGather"},
	{"jobs of a limited queue do not gather", "redisstore/scripts/sessions/work/take.lua", " and not again and not limit then", " and not again then", "redisstore", "TestAQueueWithALimitCountsJobsThatGatherAsBegun"},
	{"jobs of a limited group do not gather", "redisstore/scripts/sessions/work/take.lua", "if crash or ruled[id] then", "if crash then", "redisstore", "TestAnAnswerShowsOrderedAndFullGroups"},
	{"what has crashed is handled alone", "internal/work/claim.go", "c.crashes > 0, c.vanished, c.suspect, ", "", "tests/workers", "TestWhatHasCrashedIsHandledAlone"},
	{"last attempt of a job of a call", "internal/work/claim.go", " && c.message.Failures+1 < c.maxAttempts()", "", "tests/workers", "TestTheLastAttemptIsHandledAlone"},
	{"jobs of a call that has failed", "internal/work/claim.go", "details.Alone || outcome.Alone", "details.Alone", "tests/workers", "TestOneBadJobDoesNotBuryTheOthers"},
	{"jobs that gather in a silent session", "internal/work/gather.go", "return group.session.isSilent()", "return false", "tests/workers", "TestASilentSessionBeginsNoCall"},
	{"calls before a suspect", "internal/work/processor.go", "if forSuspect && p.lanes.suspectsWait() {", "if false {", "tests/workers", "TestASuspectRunsBesideNoCall"},
	{"error of a job of another call", "many.go", "if !known[id] {", "if false {", "tests/workers", "TestEachSettlesItsJobs"},
	{"jobs that a handler was cut off from", "internal/work/flight.go", "case of == ofOthers && f.handBack():", "case false:", "tests/workers", "TestACallThatWasCutOffCountsWhatEachNames"},
	{"end of a pause", "redisstore/scripts/lib/ends.lua", "return at and at <= now_ms", "return true", "redisstore", "TestOnlyTheEndInTheNoteEndsAPause"},
	{"acknowledgement that was read", "redisstore/scripts/acknowledgements/acknowledge.lua", "if (entry or '') ~= ARGV[2] then return 0 end", "", "redisstore", "TestALateCopyOfAnAcknowledgementChangesNothing"},
	{"turn of an occurrence that is not taken", "redisstore/scripts/sessions/work/take.lua", "(gets[ids[i]] or not long) and keeps or leaves", "keeps", "redisstore", "TestAnOccurrenceThatIsSkippedHasNoTurn"},
	{"attempts of an owed occurrence", "redisstore/scripts/repair/verify_schedules.lua", " and redis.call('HEXISTS', JOBS, id) == 0", "", "redisstore", "TestVerifyTakesARetryForNoSecondPlacement"},
	{"state of an orphaned schedule", "redisstore/scripts/repair/repair_orphans.lua", "if policy(text) == 'live' then", "if text then", "redisstore", "TestNothingIsOwedThatIsToPlaceNothing"},
	{"jobs on a queue to delete", "redisstore/scripts/queues/delete_queue.lua", "if found[i] > 0 then return found end", "", "redisstore", "TestAQueueIsDeletedOnlyWhereNothingIsOnIt"},
	{"name of a deletion's call", "redisstore/scripts/queues/delete_queue.lua", "if ARGV[1] ~= '' and answered(CALLERS, ARGV[1]) then", "if false then", "redisstore", "TestACopyOfADeletionTakesNothingAway"},
	{"gate of a deleted queue", "redisstore/scripts/queues/delete_queue.lua", "redis.call('ZADD', IDLE, DELETED, CLOSED)", "", "redisstore", "TestTheNextJobOfABusyEnqueuerListsADeletedQueue"},
	{"minute of a sample", "redisstore/scripts/samples/sample.lua", "if last and not wrong and minute - last <", "if last and not wrong and 1e15 <", "redisstore", "TestASampleOfAMinuteIsTakenOnce"},
	{"minute at which an hour was read", "redisstore/scripts/samples/sample.lua", "if hour_ended and ARGV[4] ~= was.minute then", "if false then", "redisstore", "TestAnHourThatWasReadTooSoonIsNotWritten"},
	{"name of a put of a collection", "redisstore/scripts/collections/put_collection.lua", "if c.token == token then", "if false then", "redisstore", "TestACallOfCollectionsMayBeSentTwice"},
	{"revision of a put of a collection", "redisstore/scripts/collections/put_collection.lua", "elseif c.revision ~= seen then", "elseif false then", "redisstore", "TestAPutNeedsTheRevisionThatIsStored"},
	{"number drawn last", "redisstore/scripts/collections/put_collection.lua", "(tonumber(stored[2] or '') or 0) + 1", "0", "redisstore", "TestStore/NumbersOfCollectionsGrowWhenTheClockStepsBack"},
	{"quota of an owner", "redisstore/scripts/collections/put_collection.lua", "and has >= tonumber(ARGV[8]) then", "and false then", "redisstore", "TestAnOwnerIsKnownByTheRecordsOfItsCollections"},
	{"maximum of unfinished runs", "redisstore/scripts/jobs/enqueue.lua", "if known and known.unfinished >= most then", "if false then", "redisstore", "TestARefusedRunRemainsRefusedForItsCall"},
	{"maximum of unfinished occurrences", "redisstore/scripts/lib/overlap.lua", "if most > 0 and counted.unfinished >= most and not keeps_runs(call, name) then", "if false then", "tests/schedules", "TestOccurrencesBeyondTheMaximumOfUnfinishedRunsAreSkipped"},
	{"maximum of backfilled runs", "redisstore/scripts/schedules/backfill.lua", "if room and #placed >= room then", "if false then", "tests/schedules", "TestABackfillStopsAtTheMaximumOfUnfinishedRuns"},
	{"refusal of a repeated call", "redisstore/scripts/jobs/enqueue.lua", "elseif again and refused[ordinary + position] then", "elseif false then", "redisstore", "TestARefusedRunRemainsRefusedForItsCall"},
	{"refusals at the seal of their call", "redisstore/scripts/jobs/seal.lua", "read_refused(CALLERS, ARGV[1], tonumber(last), tonumber(ARGV[5]))", "{}", "redisstore", "TestASealReturnsTheJobsThatItsCallHasRefused"},
	{"refusals of an earlier call", "redisstore/scripts/lib/refused.lua", "if tonumber(scores[1] or 0) ~= score + LATER then return refused end", "", "redisstore", "TestASealReturnsTheJobsThatItsCallHasRefused"},
	{"refusals that are forgotten with their enqueuer", "redisstore/scripts/lib/refused.lua", "local LATER = ROUND", "local LATER = 0", "redisstore", "TestASealReturnsTheJobsThatItsCallHasRefused"},
	{"seal of an unknown growth", "internal/enqueue/growths.go", "if err := e.sealGrowths(ctx, &growth); err != nil {", "if err != nil {", "tests/batches", "TestARepeatedGrowthRunsNothingTwice"},
	{"members that a failed call has added", "internal/enqueue/job_set.go", "e.batcher.outcomes.add(g.partition, b.items[g.index:g.index+1])", "_ = g", "tests/batches", "TestARepeatedGrowthRunsNothingTwice"},
	{"refused jobs of an unknown call", "internal/enqueue/outcomes.go", "if !slices.Contains(answer.Refused, item.index) {", "if item.index >= 0 {", "tests/jobs", "TestARepeatedCallAddsWhatTheFirstHasRefused"},
	{"quota of names", "redisstore/scripts/collections/reserve.lua", "if names >= tonumber(c.max_names) then", "if false then", "redisstore", "TestStore/AQuotaIsExactUnderManyWriters"},
	{"state of a reservation", "redisstore/scripts/collections/reserve.lua", "if c.state == 'deleted' then", "if false then", "redisstore", "TestStore/AReservationNeedsRoomInACollectionThatIsNotDeleted"},
	{"creation of a release", "redisstore/scripts/collections/release.lua", "if c.creation ~= creation then", "if false then", "redisstore", "TestStore/ALateReleaseLeavesALaterCollection"},
	{"names of a deletion", "redisstore/scripts/collections/delete_collection.lua", "if names > 0 then", "if false then", "redisstore", "TestACollectionIsRemovedLast"},
	{"version of secrets", "redisstore/scripts/collections/raise_secrets.lua", "if stored >= version then return stored end", "", "redisstore", "TestStore/TheVersionOfSecretsNeverGoesBack"},
	{"number of a transition", "redisstore/scripts/collections/finish_transition.lua", "if c.transition ~= transition or", "if", "redisstore", "TestStore/ATransitionIsFinishedByItsNumber"},
	{"samples of a wrong clock", "redisstore/scripts/samples/sample.lua", "if wrong then was, last = {}, nil end", "", "redisstore", "TestStore/SamplesSurviveAClockThatWasWrong"},
	{"deletion of a copy", "redisstore/schedules_survivor.go", "\tcase r.isDead(c):\n\t\treturn isRemoved\n\tcase entry.queue == \"\":", "\tcase entry.queue == \"\":", "redisstore", "TestAScheduleHasOneHomeWhateverGoesBack"},
	{"creation before a deletion", "redisstore/schedules_survivor.go", "return r.done > c.created.UnixMicro() ||", "return r.intended > c.created.UnixMicro() ||", "redisstore", "TestTheSurvivingCopyOfASchedule"},
	{"one definition of two", "redisstore/schedules_survivor.go", "\tcase there.kind == definitionCopy:\n\t\treturn yields\n", "\tcase there.kind == definitionCopy:\n\t\treturn survives\n", "redisstore", "TestAScheduleHasOneHomeWhateverGoesBack"},
	{"move that leads back", "redisstore/schedules_survivor.go", "there.kind == markCopy && there.generation > entry.generation:\n\t\treturn waitsForMove", "false:\n\t\treturn waitsForMove", "redisstore", "TestTheSurvivingCopyOfASchedule"},
	{"intent of a deletion", "redisstore/schedules_survivor.go", "return there.gone > entry.generation && r.intended > entry.generation", "return r.intended > entry.generation", "redisstore", "TestTheSurvivingCopyOfASchedule"},
	{"last copy of a schedule", "redisstore/schedules_survivor.go", "\treturn takesHome\n", "\treturn survives\n", "redisstore", "TestTheSurvivingCopyOfASchedule"},
	{"mark that is the last copy", "redisstore/schedules_survivor.go", "\tcase r.isDead(c) || r.hasBegun(there, entry):\n\t\treturn endsRemoval\n\t}\n\treturn arrivesAnew\n", "\tcase r.isDead(c) || r.hasBegun(there, entry):\n\t\treturn endsRemoval\n\t}\n\treturn moveEnded\n", "redisstore", "TestTheSurvivingCopyOfASchedule"},
	{"counts of a replaced copy", "redisstore/scripts/schedules/move_arrive.lua", " and not lives\n", "\n", "redisstore", "TestAnArrivalDoesNotCountTheCopyThatItReplaces"},
	{"creation after a deletion", "redisstore/scripts/schedules/declare.lua", "if ended_s >= now_s or before then", "if false then", "redisstore", "TestDeletingAndCreatingWithinASecondRepeatsNoID"},
	{"definition where a bar is set", "redisstore/scripts/schedules/bar.lua", "if text and not (h and is_mark(h.state) and tonumber(h.generation) <= generation) then return 0 end", "", "redisstore", "TestAStepBetweenTwoCopiesComparesWhatWasRead"},
	{"generation of a bar", "redisstore/scripts/schedules/bar.lua", "then redis.call('ZADD', KEYS[2], ARGV[2], name) end", "then redis.call('ZCARD', KEYS[2]) end", "redisstore", "TestAStepBetweenTwoCopiesComparesWhatWasRead"},
	{"generation of a raise", "redisstore/scripts/schedules/raise.lua", " or h.generation ~= ARGV[2]", "", "redisstore", "TestAStepBetweenTwoCopiesComparesWhatWasRead"},
	{"generation of the end of a move", "redisstore/scripts/schedules/move_end.lua", " or h.generation ~= ARGV[2]", "", "redisstore", "TestAStepBetweenTwoCopiesComparesWhatWasRead"},
	{"entry that changes", "redisstore/scripts/schedules/change_registry.lua", "if not redis.call('ZSCORE', REGISTRY, known) then", "if false then", "redisstore", "TestAStepBetweenTwoCopiesComparesWhatWasRead"},
	{"revision of an arrival", "redisstore/scripts/schedules/move_arrive.lua", "if lives and tonumber(here.revision) > tonumber(h.revision) then", "if false then", "redisstore", "TestAStepBetweenTwoCopiesComparesWhatWasRead"},
	{"later mark of an arrival", "redisstore/scripts/schedules/move_arrive.lua", "if here and tonumber(here.generation) > generation then", "if false then", "redisstore", "TestAStepBetweenTwoCopiesComparesWhatWasRead"},
	{"expiry of a requeued job", "redisstore/scripts/jobs/requeue.lua", "not dead[i] and expires_never(bodies[i])", "false", "redisstore", "TestARequeuedJobDoesNotExpire"},
	{"version of a pruning", "redisstore/scripts/schedules/note_pruned.lua", "known and is_lower(version, known)", "false", "redisstore", "TestALatePruningDoesNotLowerTheRecordedVersion"},
	{"expiry after a vanished worker", "internal/work/admit.go", "!taken.Vanished && c.expired", "c.expired", "tests/jobs", "TestAJobThatMayHaveBegunDoesNotExpire"},
	{"expiry after a shutdown", "internal/work/flight.go", "if !s.Unbegun && !f.message.Expires.IsZero() {", "if false {", "tests/jobs", "TestAJobThatHasBegunDoesNotExpire"},
	{"crashes of a suspect", "redisstore/scripts/sessions/reap.lua", "elseif n + uncertain + 1 < MAX_CRASHES then", "elseif true then", "redisstore", "TestACrashOfASuspectBesideAnotherJobIsUncertain"},
	{"seal of a call that was carried out", "redisstore/scripts/jobs/seal.lua", "if at == number then", "if false then", "redisstore", "TestStore/ASealedCallIsCarriedOutBeforeOrNever"},
	{"seal of an old caller", "redisstore/scripts/jobs/seal.lua", " or not at and ARGV[4] ~= '1'", "", "redisstore", "TestStore/ASealedCallIsCarriedOutBeforeOrNever"},
	{"sealed call that comes late", "redisstore/scripts/jobs/enqueue.lua", "if ahead >= ROUND / 2 then", "if false then", "redisstore", "TestStore/ASealedCallIsCarriedOutBeforeOrNever"},
	{"width of a pair of starts", "redisstore/scripts/lib/queuelimit.lua", "span_us <= limit.per * 1000 / PAIRS)", "true)", "tests/queues", "TestNoMoreJobsStartWithinAnyPerThanTheLimit"},
	{"instant of a start", "redisstore/scripts/lib/queuelimit.lua", "newest.last, newest.span, newest.n = now_us, span_us, newest.n + begins", "newest.n = newest.n + begins", "tests/queues", "TestNoMoreJobsStartWithinAnyPerThanTheLimit"},
	{"unreadable limit is not written", "redisstore/scripts/lib/queuelimit.lua", "if limit.unreadable then return limit.unreadable end", "if limit.unreadable then return '0 0 0 0' end", "redisstore", "TestALimitThatNobodyCanReadHoldsTheQueue"},
	{"alarm for a job that follows", "redisstore/scripts/sessions/work/answer.lua", "or opened or cancels or grouped and grouped.alarmed", "or opened or grouped and grouped.alarmed", "tests/queues", "TestAJobThatFollowsAnotherStartsWhenTheLimitAllows"},
	{"end of a start", "redisstore/scripts/lib/queuelimit.lua", "now_us - last_us <= limit.per * 1000", "now_us - last_us < limit.per * 1000", "redisstore", "TestAStartCountsUntilPerHasPassed"},
	{"schedule that was lost, not deleted", "redisstore/schedules_judge.go", "if pruned || all[0].removal.hasBegun(there[0], entry) {", "if pruned || all[0].removal.hasBegun(there[0], entry) || true {", "redisstore", "TestAScheduleThatItsQueueHasLostIsNotDeleted"},
	{"pruning that a declaration finishes", "redisstore/schedules_judge.go", "if pruned || all[0].removal.hasBegun(there[0], entry) {", "if pruned && false || all[0].removal.hasBegun(there[0], entry) {", "redisstore", "TestAPruningInterruptedAfterAnyCommandIsFinishedByADeclaration"},
	{"instant of a pruning", "redisstore/scripts/schedules/note_pruned.lua", "whole(math.max(at_ms, tonumber(known_ms or 0)))", "whole(at_ms)", "redisstore", "TestAPruningIsLaterThanTheCreationsOfThePrunedSchedules"},
	{"seal of an enqueued job", "internal/seal/store.go", "if items[j].Body, err = s.sealBody(holderOf(queue, items[j].ID), items[j].Body); err != nil", "if _ = j; queue == \"\" && err != nil", "tests/sealing", "TestTheStoreSealsWhatTheCallerHasNot"},
	{"seal of a replacement", "internal/seal/store.go", "call.Item.Body = body", "_ = body", "tests/sealing", "TestTheStoreSealsWhatTheCallerHasNot"},
	{"seal of a backfilled job", "internal/seal/store.go", "if job.Body, err = s.sealBody(holderOf(queue, job.ID), job.Body); err != nil", "if _ = job; queue == \"\" && err != nil", "tests/sealing", "TestNothingOfAScheduleIsStoredInClear"},
	{"seal of a failed job", "internal/seal/store.go", "if one.Body, err = s.sealBody(at, one.Body); err != nil", "if _ = at; err != nil", "tests/sealing", "TestNothingOfAJobIsStoredInClear"},
	{"seal of a follower", "internal/seal/store.go", "if one.Follower, err = s.follower(queue, one.ID, one.Follower); err != nil", "if err != nil", "tests/sealing", "TestNothingOfAJobIsStoredInClear"},
	{"shapes of sealed errors", "internal/seal/store.go", "sent := withoutShapes(calls)", "sent := calls", "tests/sealing", "TestNothingOfAJobIsStoredInClear"},
	{"shapes of sealed errors at the end of a session", "internal/seal/shapes.go", "session, shapeless(measured))", "session, measured)", "tests/sealing", "TestNothingOfAJobIsStoredInClear"},
	{"seal of a result", "internal/seal/store.go", "if one.Result, err = s.keptResult(place{queue, one.ID}, one.Result); err != nil", "if err != nil", "tests/sealing", "TestResultsAndProgressAreSealedForTheirJob"},
	{"seal of the history", "internal/seal/store.go", "if one.Run, err = s.sealRun(one.Run, one.ID); err != nil", "if err != nil", "tests/sealing", "TestSealedDataOfSchedulesOpenAtNoOtherPlace"},
	{"seal of progress", "internal/seal/store.go", "r.Progress = wire.SealedProgress(sealed)", "_ = sealed", "tests/sealing", "TestResultsAndProgressAreSealedForTheirJob"},
	{"seal of a cancelled job's result", "internal/seal/store.go", "sealed, err := s.keptResult(place{queue, id}, result)", "sealed, err := result, error(nil)", "tests/sealing", "TestNothingOfAJobIsStoredInClear"},
	{"seal of a burial", "internal/seal/store.go", "if b.Dead, err = s.sealBody(holderOf(partition.Queue, b.ID), b.Dead); err != nil", "if err != nil", "tests/sealing", "TestAnOccurrenceThatDiesParkedIsSealed"},
	{"seal of what follows a burial", "internal/seal/store.go", "if b.Follower, err = s.follower(partition.Queue, b.ID, b.Follower); err != nil", "if err != nil", "tests/sealing", "TestAnOccurrenceThatDiesParkedIsSealed"},
	{"seal of a requeued occurrence", "internal/seal/store.go", "if jobs[i].Body, err = s.sealBody(holderOf(queue, jobs[i].ID), jobs[i].Body); err != nil", "if _ = queue; err != nil", "tests/sealing", "TestAnOccurrenceThatDiesParkedIsSealed"},
	{"seal of a schedule", "internal/seal/schedules.go", "\td.Body = body\n\treturn nil", "\t_ = body\n\treturn nil", "tests/sealing", "TestNothingOfAScheduleIsStoredInClear"},
	{"schedule that another key has sealed", "internal/seal/schedules.go", "\t\tif err != nil {\n\t\t\treturn err\n\t\t}\n\t\tif sealed &&", "\t\t_ = err\n\t\tif sealed &&", "tests/sealing", "TestProcessesWithDifferentRingsLeaveEachOthersSchedulesAlone"},
	{"stored bytes of a sealed schedule", "internal/seal/schedules.go", "same != nil {", "same != nil && false {", "tests/sealing", "TestProcessesWithDifferentRingsLeaveEachOthersSchedulesAlone"},
	{"job in clear", "internal/seal/store.go", "if taken.Refused = s.refused(err); !sealed {", "if taken.Refused = s.refused(err); sealed && false {", "tests/sealing", "TestAWorkerThatRequiresSealedJobsRunsNoOthers"},
	{"job in clear inside a sealed one", "internal/seal/envelope.go", "if s.required && len(body) > 0 && !isSealed(body) {\n\t\treturn nil, s.plain()", "if false {\n\t\treturn nil, s.plain()", "tests/sealing", "TestNothingInClearBecomesSealedWhereItIsRequired"},
	{"job before in clear inside a sealed one", "internal/seal/envelope.go", "len(e.Payload) > 0 {", "len(e.Payload) > 1<<30 {", "tests/sealing", "TestNothingInClearBecomesSealedWhereItIsRequired"},
	{"result in clear inside a sealed job", "internal/seal/envelope.go", "err == nil && r.Sealed == nil && s.required {", "err == nil && r.Sealed == nil && false {", "tests/sealing", "TestNothingInClearBecomesSealedWhereItIsRequired"},
	{"burial in clear", "internal/seal/store.go", "if len(b.Opened) == 0 {", "if false {", "tests/sealing", "TestNothingInClearBecomesSealedWhereItIsRequired"},
	{"requeued job in clear", "internal/seal/store.go", "len(read) > 0 && !isSealed(read) {", "len(read) > 0 && false {", "tests/sealing", "TestNothingInClearBecomesSealedWhereItIsRequired"},
	{"requeued occurrence in clear", "internal/seal/store.go", "\t\tif !sealed {\n\t\t\tf.Refused", "\t\tif !sealed && false {\n\t\t\tf.Refused", "tests/sealing", "TestNothingInClearBecomesSealedWhereItIsRequired"},
	{"schedule in clear", "internal/seal/schedules.go", "if stored.Definition = plain; !sealed {", "if stored.Definition = plain; !sealed && false {", "tests/sealing", "TestNothingInClearBecomesSealedWhereItIsRequired"},
	{"arguments in clear of a sealed schedule", "internal/schedule/sealed.go", "spec.Args, spec.Payload = nil, spec.form(), nil, nil", "spec.Args, spec.Payload = nil, spec.form(), spec.Args, spec.Payload", "tests/sealing", "TestArgumentsBesideSealedOnesDoNotCount"},
	{"namespace of what is sealed", "internal/seal/sealer.go", "\"chime 1\", s.namespace, string(k)", "\"chime 1\", \"\", string(k)", "tests/sealing", "TestSealedDataOpenAtNoOtherPlace"},
	{"kind of what is sealed", "internal/seal/sealer.go", "string(k), at.queue, at.id", "\"\", at.queue, at.id", "tests/sealing", "TestSealedDataOpenAtNoOtherPlace"},
	{"queue of what is sealed", "internal/seal/sealer.go", "string(k), at.queue, at.id", "string(k), \"\", at.id", "tests/sealing", "TestSealedDataOpenAtNoOtherPlace"},
	{"ID of what is sealed", "internal/seal/sealer.go", "string(k), at.queue, at.id", "string(k), at.queue, \"\"", "tests/sealing", "TestSealedDataOpenAtNoOtherPlace"},
	{"job that cannot be opened", "internal/work/admit.go", ", errors.Is(err, protocol.ErrSealed):", ":", "tests/sealing", "TestAJobWaitsForAWorkerWithItsKey"},
	{"sealed job without a codec", "internal/work/claim.go", "case sealed != nil:", "case false && sealed != nil:", "tests/sealing", "TestAJobWaitsForAWorkerWithItsKey"},
	{"stack in the log", "internal/work/flight.go", "if f.config.HideErrors {", "if false {", "tests/sealing", "TestNothingOfAJobIsStoredInClear"},
	{"error in the log", "internal/work/job.go", "if c.HideErrors {", "if false {", "tests/sealing", "TestNothingOfAJobIsStoredInClear"},
	{"expiry of a requeued sealed job", "redisstore/scripts/lib/expiry.lua", " or version == EXPIRING + 16", "", "tests/sealing", "TestARequeuedSealedJobDoesNotExpire"},
	{"key of IDs", "internal/enqueue/args_id.go", "if e.options.Sealing == nil {", "if true {", "tests/sealing", "TestArgsIDNeedsAKeyOfIDs"},
}

// TestASwitchedOffGuardIsFound switches guards off and runs the test that must find each. If nothing finds a missing guard, the
// guard may already be missing. Each package of tests is built once, with a switch for each guard (see switches). With a number in
// CHIME_SEEDS these are an eighth of the guards (see guard.turn), and those whose row, whose file, or whose test's file the last commits have changed.
func TestASwitchedOffGuardIsFound(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	s := newSwitches(t, root)
	changed, rows := changedFiles(t, root), changedRows(t, root)
	var found []guard
	for _, g := range guards {
		if n := strings.Count(s.source(t, g.file), g.on); n != 1 {
			t.Errorf("%s: %s has %q at %d places, want one: change the table so that the guard can be switched off", g.name, g.file, g.on, n)
		} else if !long.Turn(g.turn()) && changed != nil && !changed[g.file] && !changed[testFile(t, root, g)] && !rows[g.name] {
			continue
		} else if filepath.Ext(g.file) == ".lua" || s.addGo(t, g) {
			found = append(found, g)
		}
	}
	var packages []string
	patterns := map[string][]string{} // a package of tests → a pattern for each of its tests that finds a guard
	for _, g := range found {
		if patterns[g.in] == nil {
			packages = append(packages, g.in)
		}
		patterns[g.in] = append(patterns[g.in], exactly(g.finds))
	}
	binaries := s.build(t, packages)
	run := func(t *testing.T, where string, environment []string, args ...string) (string, error) {
		command := exec.CommandContext(t.Context(), binaries[where], append([]string{"-test.count=1", "-test.timeout=10m"}, args...)...)
		command.Dir, command.Env = filepath.Join(root, where), append(os.Environ(), environment...)
		output, err := command.CombinedOutput()
		return string(output), err
	}
	for _, g := range found {
		t.Run(g.name, func(t *testing.T) {
			args, want := []string{"-test.failfast", "-test.run=" + exactly(g.finds)}, "--- FAIL: "+g.finds
			if output, err := run(t, g.in, g.environment(), args...); err == nil || !strings.Contains(output, want) {
				t.Errorf("with %s switched off, %s %s: %v; want a failure with %q; it printed\n%s", g.name, g.in, strings.Join(args, " "), err, want, output)
			}
		})
	}
	for _, where := range packages { // with all guards on, no test fails; otherwise the failures above prove nothing
		output, err := run(t, where, nil, "-test.v", "-test.run="+strings.Join(patterns[where], "|"))
		for _, g := range found {
			if g.in == where && (err != nil || !strings.Contains(output, "--- PASS: "+g.finds)) {
				t.Errorf("with all guards on, %s: %v; it printed\n%s", g.finds, err, output)
			}
		}
	}
}

// turn names the guards that have their turn together. To build a package of tests takes longer than to run its tests, so all guards that one package
// finds have it together; redisstore finds most guards, and is built each time.
func (g guard) turn() string {
	if g.in == "redisstore" {
		return g.name
	}
	return g.in
}

// recentCommits is how many commits after its change a guard is switched off each time.
const recentCommits = 8

// changedFiles returns the files that the last commits have changed, or that differ from them. It is nil if Git does not know these commits: then
// each guard is switched off.
func changedFiles(t *testing.T, root string) map[string]bool {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", "diff", "--name-only", fmt.Sprintf("HEAD~%d", recentCommits))
	command.Dir = root
	output, err := command.Output()
	if err != nil {
		return nil
	}
	files := map[string]bool{}
	for file := range strings.Lines(string(output)) {
		files[strings.TrimSpace(file)] = true
	}
	return files
}

// A row of a guard begins with its name.
var row = regexp.MustCompile(`(?m)^\+\t\{("(?:[^"\\]|\\.)*"),`)

// changedRows returns the names of the guards whose rows the last commits have added or changed.
func changedRows(t *testing.T, root string) map[string]bool {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", "diff", "-U0", fmt.Sprintf("HEAD~%d", recentCommits), "--", "tests/ablation/ablation_test.go")
	command.Dir = root
	output, err := command.Output()
	if err != nil {
		return nil // changedFiles has the same answer, and each guard is switched off
	}
	return rowsIn(t, string(output))
}

// rowsIn returns the names of the guards whose rows a difference adds.
func rowsIn(t *testing.T, difference string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, found := range row.FindAllStringSubmatch(difference, -1) {
		name, err := strconv.Unquote(found[1])
		if err != nil {
			t.Fatal(err)
		}
		names[name] = true
	}
	return names
}

func TestRowsThatADifferenceAdds(t *testing.T) {
	difference := "@@ -1 +1,2 @@\n-\t{\"old\", \"a.go\",\n+\t{\"new \\\"one\\\"\", \"a.go\",\n+\t{\"second\", \"b.lua\",\n+\tname  string\n"
	if got := rowsIn(t, difference); len(got) != 2 || !got[`new "one"`] || !got["second"] {
		t.Errorf("rows %v, want the two that were added", got)
	}
}

// testFile returns the file of the test that finds a guard, or of the suite's test.
func testFile(t *testing.T, root string, g guard) string {
	t.Helper()
	in, declares := g.in, "func "+g.finds+"("
	if _, test, ofSuite := strings.Cut(g.finds, "TestStore/"); ofSuite {
		in, declares = "internal/storesuite", " Test"+test+"("
	}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(in), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), declares) {
			return in + "/" + filepath.Base(file)
		}
	}
	t.Errorf("%s: %s has no %s", g.name, in, g.finds)
	return ""
}

// exactly returns a pattern that matches only one test, or only one test of a suite.
func exactly(test string) string { return "^" + strings.ReplaceAll(test, "/", "$/^") + "$" }
