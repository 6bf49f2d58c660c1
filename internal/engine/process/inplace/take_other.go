//go:build !(linux || windows || darwin) || !(amd64 || arm64)

package inplace

import (
	"errors"
	"time"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
)

// Supported says whether processes can be copied on this system.
const Supported = false

// Image is a copy of this process. There is none on this system.
type Image struct{}

// Take returns errors.ErrUnsupported.
func (p *Plan) Take(func() bool, int64) (*Image, error) { return nil, errors.ErrUnsupported }

// TakeMarks returns errors.ErrUnsupported.
func (p *Plan) TakeMarks(func() bool) (*Image, error) { return nil, errors.ErrUnsupported }

// Held returns nothing.
func (i *Image) Held() []image.Piece { return nil }

// Copy returns errors.ErrUnsupported.
func (i *Image) Copy([]image.Range) ([][]byte, error) { return nil, errors.ErrUnsupported }

// Size returns 0.
func (i *Image) Size() int64 { return 0 }

// Caller returns zeros.
func (i *Image) Caller() (pc, sp uintptr) { return 0, 0 }

// CallerG returns 0.
func (i *Image) CallerG() uintptr { return 0 }

// Pause returns 0.
func (i *Image) Pause() time.Duration { return 0 }

// Frozen returns 0.
func (i *Image) Frozen() time.Duration { return 0 }

// Close returns nil.
func (i *Image) Close() error { return nil }
