package ended

import "embed"

// Sources are the files of this package.
//
//go:embed *.go
var Sources embed.FS
