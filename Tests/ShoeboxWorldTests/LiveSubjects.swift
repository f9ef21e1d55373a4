extension FileSystemSubject {
    static let live: [FileSystemSubject] = []
}

extension MountSubject {
    static let live: [MountSubject] = []
}
