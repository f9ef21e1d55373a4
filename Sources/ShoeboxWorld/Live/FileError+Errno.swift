internal import Glibc

extension FileError {
    /// The error of a call that failed with this errno; the one place where numbers become codes.
    public init(errno number: Int32, operation: String, path: String) {
        self.init(
            code: Code(errno: number), operation: operation, path: path, errno: number,
            reason: strerror(number).map { String(cString: $0) } ?? "error \(number)")
    }
}

extension FileError.Code {
    /// The code for an errno; `.inputOutput` for those that have none of their own.
    public init(errno number: Int32) {
        switch number {
        case ENOENT: self = .absent
        case EEXIST, ENOTEMPTY: self = .exists
        case EACCES, EPERM, EROFS, ETXTBSY: self = .denied
        case ENOSPC, EDQUOT: self = .full
        case ETIMEDOUT: self = .timedOut
        case ELOOP, ENOTDIR, EISDIR, EXDEV: self = .unexpectedKind
        case ENAMETOOLONG, EINVAL, EILSEQ: self = .badName
        // What a FUSE, NFS or SMB mount says when its server or its helper process is gone.
        case ENOTCONN, ENODEV, ENXIO, ESHUTDOWN, EHOSTDOWN, EHOSTUNREACH: self = .offline
        default: self = .inputOutput
        }
    }
}
