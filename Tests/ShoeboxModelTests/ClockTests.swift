import ShoeboxModel
import ShoeboxTestSupport
import Testing

@Suite struct ClockTests {
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `timestamps only rise, whatever the wall clock and others say`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var clock = HybridClock()
        var last = HybridTimestamp(wallMilliseconds: 0, counter: 0, replica: ReplicaID(1))
        for _ in 0..<100 {
            let now = UInt64(generator.below(1 << 42))
            if generator.chance(50) {
                let other = HybridTimestamp(
                    wallMilliseconds: UInt64(generator.below(1 << 44)),
                    counter: UInt16(truncatingIfNeeded: generator.next()), replica: ReplicaID(2))
                clock.receive(other, nowMilliseconds: now)
                if clock.wallMilliseconds > last.wallMilliseconds {
                    #expect(
                        clock.wallMilliseconds <= max(now + HybridClock.aheadMillisecondsMax, last.wallMilliseconds))
                }
            }
            let next = clock.next(nowMilliseconds: now, replica: ReplicaID(1))
            #expect(next > last)
            last = next
        }
    }

    @Test func `the counter carries into the milliseconds`() {
        var clock = HybridClock(wallMilliseconds: 5, counter: .max)
        let next = clock.next(nowMilliseconds: 1, replica: ReplicaID(1))
        #expect(next.wallMilliseconds == 6 && next.counter == 0)
    }

    @Test func `a vector contains what lies at or below its entries`() {
        let vector: VersionVector = [ReplicaID(1): 3, ReplicaID(2): 0]
        #expect(vector.contains(Dot(replica: ReplicaID(1), counter: 3)))
        #expect(!vector.contains(Dot(replica: ReplicaID(1), counter: 4)))
        #expect(!vector.contains(Dot(replica: ReplicaID(2), counter: 1)))
        #expect(vector.union([ReplicaID(2): 4]).contains(vector))
        #expect(vector.entries.count == 1)
    }
}
