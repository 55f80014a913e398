//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd)

package file

import "os"

// locks reports whether lock excludes other processes. A file that merely exists would outlive a killed process.
const locks = false

// lock does nothing here.
func lock(*os.File) error { return nil }

// SyncDir does nothing: such systems cannot flush a directory, or do it with the file.
func SyncDir(string) error { return nil }
