import ShoeboxFormat
public import ShoeboxModel

/// Controls as bytes for the local database: the body of a control file, neither sealed nor signed.
public enum ControlCoder {
    /// The bytes of a control.
    public static func encode(_ control: Control) throws(CloudError) -> [UInt8] { try serialize(control.wire) }

    /// The control of such bytes; `.damaged` for others.
    public static func decode(_ bytes: [UInt8]) throws(CloudError) -> Control {
        try Control(wire: try parse(WireControl.self, bytes, "control"))
    }
}
