import Testing

@testable import Shoebox

/// When the container is asked for news.
@Suite struct PollScheduleTests {
    private static let second: UInt64 = 1_000

    @Test func `hints that lead to nothing are followed ever later, though not later than a poll`() {
        var schedule = PollSchedule(.init(), now: 0)
        var now: UInt64 = 0
        var pauses: [UInt64] = []
        for _ in 0..<20 {
            schedule.noteHint(didSomething: false, tookMilliseconds: 3, now: now)
            pauses.append(schedule.hintsFrom - now)
            now = schedule.hintsFrom
        }
        #expect(pauses == pauses.sorted() && pauses[1] < 50 && pauses.last == Self.second, "\(pauses)")
        schedule.noteHint(didSomething: true, tookMilliseconds: 3, now: now)
        #expect(schedule.hintsFrom <= now)
    }

    @Test func `a hint after a while without any is followed at once`() {
        var schedule = PollSchedule(.init(), now: 0)
        var now: UInt64 = 0
        for _ in 0..<20 {
            schedule.noteHint(didSomething: false, tookMilliseconds: 3, now: now)
            now = schedule.hintsFrom
        }
        now += 6 * Self.second
        #expect(schedule.hintsFrom <= now)
        schedule.noteHint(didSomething: false, tookMilliseconds: 3, now: now)
        #expect(schedule.hintsFrom <= now)
    }

    @Test func `rounds that take long and lead to nothing take half of the time at most`() {
        var schedule = PollSchedule(.init(), now: 0)
        for round in 1...10 {
            let now = UInt64(round) * 8 * Self.second
            schedule.noteHint(didSomething: false, tookMilliseconds: 4 * Self.second, now: now)
            #expect(round == 1 || schedule.hintsFrom >= now + 4 * Self.second, "\(schedule.hintsFrom - now)")
        }
    }
}
