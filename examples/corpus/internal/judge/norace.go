//go:build !race

package judge

const withRace = false
