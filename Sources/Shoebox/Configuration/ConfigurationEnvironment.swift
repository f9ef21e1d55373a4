/// What the environment says about where a configuration and its folders are.
public struct ConfigurationEnvironment: Hashable, Sendable {
    /// The directory that relative paths of the command line start at.
    public var currentDirectory: AbsolutePath
    /// `$HOME`; nil if unset or not absolute.
    public var home: AbsolutePath?
    /// `$SHOEBOX_CONFIG`; nil if unset or empty.
    public var configuration: String?
    /// `$XDG_CONFIG_HOME`, else `~/.config`; nil without a home.
    public var configurationHome: AbsolutePath?
    /// `$XDG_STATE_HOME`, else `~/.local/state`; nil without a home.
    public var stateHome: AbsolutePath?

    /// What these variables say. As the XDG specification asks, a base directory that is not absolute counts as unset.
    public init(variables: [String: String], currentDirectory: AbsolutePath) {
        func directory(_ name: String) -> AbsolutePath? { variables[name].flatMap { AbsolutePath($0) } }
        self.currentDirectory = currentDirectory
        home = directory("HOME")
        configuration = variables["SHOEBOX_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        configurationHome = directory("XDG_CONFIG_HOME") ?? home?.appending(".config")
        stateHome = directory("XDG_STATE_HOME") ?? home?.appending(".local/state")
    }

    /// Where an account's database and keys are unless the configuration says otherwise; nil without a home.
    public func state(of account: String) -> AbsolutePath? { stateHome?.appending("shoebox/\(account)") }

    /// Where the configuration file is: what `--config` says, else `$SHOEBOX_CONFIG`, else `shoebox/config.json` in the
    /// user's configuration directory. Relative paths start at the current directory.
    public func configurationFile(option: String?) throws(ConfigurationError) -> AbsolutePath {
        if let named = option ?? configuration {
            guard !named.isEmpty, !named.utf8.contains(0) else {
                throw ConfigurationError(
                    code: .absent, file: nil, message: "the path of the configuration is empty",
                    remedy: "Write --config FILE with the path of the file.")
            }
            return currentDirectory.appending(named)
        }
        guard let configurationHome else {
            throw ConfigurationError(
                code: .noHome, file: nil, message: "no configuration is named, and HOME is not set",
                remedy: "Write --config FILE, or set SHOEBOX_CONFIG.")
        }
        return configurationHome.appending("shoebox/config.json")
    }
}
