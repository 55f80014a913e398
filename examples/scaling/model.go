package main

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/pkg/errors"
)

// network describes the cost of an exchange: a latency, and a time for every byte.
type network struct {
	Latency   float64 // seconds of an exchange
	Bandwidth float64 // bytes per second, each way
}

func (n network) String() string {
	return fmt.Sprintf("%.3g µs, %.3g GB/s", 1e6*n.Latency, n.Bandwidth/1e9)
}

// networks returns common networks: Ethernet with TCP, InfiniBand, and ranks on one machine.
func networks() map[string]network {
	return map[string]network{
		"1gbit": {50e-6, 0.117e9}, "10gbit": {25e-6, 1.17e9}, "100gbit": {3e-6, 11.5e9}, "memory": {1e-6, 8e9},
	}
}

// networkNames lists the networks, the slowest first.
func networkNames() []string { return []string{"1gbit", "10gbit", "100gbit", "memory"} }

// allReduce returns the seconds of a sum over n machines that halve and double (Rabenseifner 2004): log₂ n exchanges
// there and back, of 2(n−1)/n of the bytes.
func (n network) allReduce(machines int, size float64) float64 {
	if machines == 1 {
		return 0
	}
	rounds := float64(bits.Len(uint(machines)) - 1)
	return 2*rounds*n.Latency + 2*float64(machines-1)/float64(machines)*size/n.Bandwidth
}

// fit returns the network that fits times measured on two machines, MB:ms,MB:ms,…: the line through them with the
// smallest relative errors.
func fit(measured string) (n network, err error) {
	var w, wx, wxx, wy, wxy float64
	for i, pair := range strings.Split(measured, ",") {
		mb, ms, _ := strings.Cut(pair, ":")
		x, err1 := strconv.ParseFloat(mb, 64)
		y, err2 := strconv.ParseFloat(ms, 64)
		if err1 != nil || err2 != nil || !(x > 0 && y > 0) || math.IsInf(x+y, 0) {
			return n, errors.Errorf("element %d: got %q, want MB:ms such as 3.3:28", i+1, pair)
		}
		x, y = 1e6*x, 1e-3*y
		weight := 1 / (y * y)
		w, wx, wxx, wy, wxy = w+weight, wx+weight*x, wxx+weight*x*x, wy+weight*y, wxy+weight*x*y
	}
	slope := (w*wxy - wx*wy) / (w*wxx - wx*wx)
	if !(slope > 0) || math.IsInf(slope, 0) {
		return n, errors.Errorf("got %s, want two sizes or more, of which the larger takes longer", measured)
	}
	return network{Latency: max(0, (wy-slope*wx)/w/2), Bandwidth: 1 / slope}, nil
}

// job describes the training.
type job struct {
	Bytes  float64 // of gradients
	Micro  float64 // seconds of a micro-batch on a machine
	Micros int     // micro-batches of a step
	Tokens int     // of a micro-batch
}

func (j job) check() error {
	if !(j.Micro > 0) || math.IsInf(j.Micro, 0) {
		return errors.Errorf("-micro_ms: got %v, want more than 0", 1e3*j.Micro)
	}
	if j.Micros < 1 {
		return errors.Errorf("-gradient_accumulation_steps: got %d, want at least 1", j.Micros)
	}
	return nil
}

// machines returns the powers of two that divide the micro-batches.
func (j job) machines() (list []int) {
	for n := 1; n <= 1<<16 && j.Micros%n == 0; n *= 2 {
		list = append(list, n)
	}
	return list
}

// exposed returns the seconds of the all-reduce that computing does not hide. Buckets of 4 MB are sent as they are
// finished in the backward pass of the last micro-batch, which is two thirds of its time; nothing hides the last
// bucket.
func (j job) exposed(machines int, n network) float64 {
	t, buckets := n.allReduce(machines, j.Bytes), math.Ceil(j.Bytes/(4<<20))
	return max(t/buckets, t-(1-1/buckets)*j.Micro*2/3)
}

// step returns the seconds of a step.
func (j job) step(machines int, n network) float64 {
	return j.Micro*float64(j.Micros)/float64(machines) + j.exposed(machines, n)
}

// efficiency returns the fraction of a machine's time that is spent computing.
func (j job) efficiency(machines int, n network) float64 {
	return j.step(1, n) / (float64(machines) * j.step(machines, n))
}
