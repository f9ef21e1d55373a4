import ArgumentParser
import Foundation
import Glibc
import Shoebox

/// Where a passphrase comes from: a file, `$SHOEBOX_PASSPHRASE`, or the terminal.
struct PassphraseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file whose first line is the passphrase; else $SHOEBOX_PASSPHRASE, else it is asked for.",
            valueName: "file"))
    var passphraseFile: String?

    private static let charactersMin = 10

    /// The passphrase of an existing file.
    func existing() throws -> String { try read(prompt: "Passphrase: ") }

    /// A passphrase for a new file, asked for twice.
    func new() throws -> String {
        let text = try read(prompt: "New passphrase, at least \(Self.charactersMin) characters: ")
        guard text.count >= Self.charactersMin else {
            throw RequestError(
                64, "A passphrase needs at least \(Self.charactersMin) characters.", "Use five or more random words.")
        }
        if isAsked {
            guard try ask("Once more: ") == text else {
                throw RequestError(64, "The two passphrases differ.", "Try again; nothing was written.")
            }
        }
        return text
    }

    private var isAsked: Bool {
        passphraseFile == nil && ProcessInfo.processInfo.environment["SHOEBOX_PASSPHRASE"] == nil
    }

    private func read(prompt: String) throws -> String {
        let text: String
        if let passphraseFile {
            guard let data = FileManager.default.contents(atPath: passphraseFile), data.count <= 65_536 else {
                throw RequestError(
                    ExitCode.notFound, "The passphrase file \(passphraseFile) can't be read.", "Check the path.")
            }
            text =
                String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
                .first.map { $0.hasSuffix("\r") ? String($0.dropLast()) : String($0) } ?? ""
        } else if let value = ProcessInfo.processInfo.environment["SHOEBOX_PASSPHRASE"] {
            text = value
        } else {
            return try ask(prompt)
        }
        return text.precomposedStringWithCanonicalMapping
    }

    /// Asks on the terminal, without showing what is typed.
    private func ask(_ prompt: String) throws -> String {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else {
            throw RequestError(
                64, "There is no terminal to ask for the passphrase.",
                "Use --passphrase-file FILE, or $SHOEBOX_PASSPHRASE.")
        }
        defer { close(terminal) }
        var before = termios()
        guard tcgetattr(terminal, &before) == 0 else {
            throw RequestError(64, "The terminal can't be used to ask for a passphrase.", "Use --passphrase-file FILE.")
        }
        var silent = before
        // Without signals: Ctrl-C must not leave the terminal silent. It is read as a character instead.
        silent.c_lflag &= ~tcflag_t(ECHO | ISIG)
        tcsetattr(terminal, TCSAFLUSH, &silent)
        defer { tcsetattr(terminal, TCSAFLUSH, &before) }
        Output.write(Array(prompt.utf8), to: terminal)
        defer { Output.write([UInt8(ascii: "\n")], to: terminal) }
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while Glibc.read(terminal, &byte, 1) == 1, byte != UInt8(ascii: "\n"), bytes.count < 65_536 {
            guard byte != 3, byte != 28 else { throw RequestError(130, "Interrupted.", "Nothing was written.") }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self).precomposedStringWithCanonicalMapping
    }
}
