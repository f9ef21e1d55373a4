import ShoeboxCloud

/// A file of a container as JSON text; a name of its own, as `TreeListing` has an `inspect` too.
func inspectFile(_ bytes: [UInt8], _ keyring: ZoneKeyring?) throws -> String {
    try inspect(bytes, keyring: keyring)
}
