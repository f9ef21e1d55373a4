import ShoeboxModel
import ShoeboxPlanning
import ShoeboxStore
import ShoeboxWorld

extension Engine {
    /// Decides between values that were written at once: the one that is kept is written again by somebody who has seen
    /// the others that were listed. What has arrived since then stays undecided.
    ///
    /// - Parameter choice: `shown` or 0 for the value that shows, else the number of another one in the list, or an id.
    func resolveConflict(_ reference: PathReference, field: String, choice: String) throws -> Reply {
        let id = try record(at: reference)
        guard let state = try store.read({ db in try db.state(of: id) }),
            let key = state.fields.keys.first(where: { $0.rawValue == field }), let values = state.fields[key],
            !values.losers.isEmpty, let winner = values.winner
        else {
            throw RequestError(
                ExitCode.notFound, "Nothing is undecided about '\(field)' there.", "'shoebox conflicts' lists all.")
        }
        let listed = try store.read { db in try self.listed(.conflict(id, key), db) }
        let kept = try chosen(choice, of: [winner] + values.losers, field: field, listed: listed)
        guard state.isLive else {
            throw RequestError(
                ExitCode.notFound, "The photo was just taken away by somebody else.",
                "'shoebox conflicts' lists what is undecided.")
        }
        try requireWritable(id)
        var fields: [FieldKey: Value] = [key: kept.value]
        if key == .content {
            if let asset = kept.value.asset, try !findBytes(asset, of: id) {
                throw RequestError(
                    ExitCode.notFound, "The bytes of that version are not here yet.", "Try again when they have come.")
            }
            fields[.modified] = state.fields[.modified]?.values.first { $0.dot == kept.dot }?.value ?? state[.modified]
        }
        var context = decided(listed, of: state)
        context.insert(kept.dot)
        let left = try store.write { db in
            var writer = try HistoryWriter(db, engine: self, author: "cli")
            try writer.write(id, type: state.type, .set(fields), context: context)
            try writer.finish()
            try db.markDirty(id)
            return try db.state(of: id)?.fields[key]?.losers.count ?? 0
        }
        let more =
            left == 0
            ? [] : ["Of what was written since the list was printed, \(left) more are undecided: 'shoebox conflicts'."]
        return Reply(lines: ["'\(kept.value.displayText)' it is, for everybody."] + more)
    }

    /// The value that a person means.
    ///
    /// - Throws: `RequestError` if there is none such, or if a number may mean another one than the list said.
    private func chosen(
        _ choice: String, of values: [FieldValue], field: String, listed: ListedValues?
    ) throws -> FieldValue {
        let ids = values.map { Derivation.valueID(of: $0.dot) }
        guard let number = choice == "shown" ? 0 : choice.utf8.count < 6 ? Int(choice) : nil else {
            let matching = ids.indices.filter { ids[$0].hasPrefix(choice.lowercased()) && choice.utf8.count >= 6 }
            guard matching.count == 1, let index = matching.first else {
                throw RequestError(
                    ExitCode.notFound, "There is no value '\(choice)' of '\(field)': it was decided, or written over.",
                    "'shoebox conflicts' lists what is undecided now.")
            }
            return values[index]
        }
        if let listed, listed.values != ids {
            throw RequestError(
                ExitCode.failed,
                "Something else was written to '\(field)' since 'shoebox conflicts' listed it here, so that '\(choice)' may be another value by now. Nothing was decided.",
                "Run 'shoebox conflicts' again, and take the number from there; or name the value by its id, which stays."
            )
        }
        guard values.indices.contains(number) else {
            throw RequestError(
                ExitCode.notFound, "There is no value \(number): the other values are 1 to \(values.count - 1).",
                "'shoebox conflicts' lists them.")
        }
        return values[number]
    }
}
