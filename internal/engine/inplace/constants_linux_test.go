//go:build amd64 || arm64

package inplace

import (
	"testing"

	"github.com/leakgate/leakgate/internal/engine/image"
	"github.com/leakgate/leakgate/internal/require"
)

func TestReadOnly(t *testing.T) {
	const maps = `00400000-0049e000 r-xp 00000000 08:01 12 /tmp/x.test
0049e000-00548000 r--p 0009e000 08:01 12 /tmp/x.test
00548000-0055f000 rw-p 00148000 08:01 12 /tmp/x.test
0055f000-00592000 rw-p 00000000 00:00 0
c000000000-c000400000 rw-p 00000000 00:00 0
7f0e4a000000-7f0e4a021000 ---p 00000000 08:01 13 /usr/lib/libc.so.6
7f0e4a021000-7f0e4a022000 r--p 00000000 08:01 13 /usr/lib/libc.so.6
7ffd2f5f6000-7ffd2f5f8000 r-xp 00000000 00:00 0 [vdso]
`
	require.Equal(t, []image.Range{{Addr: 0x400000, Len: 0x148000}, {Addr: 0x7f0e4a021000, Len: 0x1000}}, readOnly([]byte(maps)))
	require.Empty(t, readOnly(nil))
	require.Empty(t, readOnly([]byte("nonsense\n-\n")))
}
