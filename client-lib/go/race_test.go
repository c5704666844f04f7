//go:build race

package seqd

const raceDetector = true
