package program

// The largest numbers of points in the Curve of the batches and of the evaluations. A picture is about 600 pixels wide
// and has a mark at every evaluation.
const (
	mostBatches     = 2048
	mostEvaluations = 512
)

// Curve is a series of numbers over the steps of a run, for a plot, in memory that does not grow with the run. It
// keeps every number until it has the largest number of points. Then every two points are replaced by their mean, and
// from then on a point is the mean of two numbers, later of four, and so on. It has the methods of gonum's
// plotter.XYer.
type Curve struct {
	points  []point
	most    int   // points
	each    int   // numbers averaged in a point
	pending point // the mean of the numbers after the last point
	n       int   // the number of these numbers
}

type point struct{ x, y float64 }

// NewCurve returns an empty Curve of at most most points, which must be even. It allocates all its memory, 16 bytes
// per point.
func NewCurve(most int) Curve { return Curve{points: make([]point, 0, most), most: most, each: 1} }

// Add adds the number y of a step.
func (c *Curve) Add(step int, y float64) {
	c.n++
	c.pending.x += (float64(step) - c.pending.x) / float64(c.n)
	c.pending.y += (y - c.pending.y) / float64(c.n)
	if c.n < c.each {
		return
	}
	if len(c.points) == c.most {
		c.halve()
		if c.n < c.each {
			return
		}
	}
	c.points, c.pending, c.n = append(c.points, c.pending), point{}, 0
}

// halve replaces every two points by one. The pending number then waits for another one.
func (c *Curve) halve() {
	for i := range c.most / 2 {
		a, b := c.points[2*i], c.points[2*i+1]
		c.points[i] = point{(a.x + b.x) / 2, (a.y + b.y) / 2}
	}
	c.points, c.each = c.points[:c.most/2], 2*c.each
}

// Len returns the number of points, which includes one for an incomplete mean.
func (c *Curve) Len() int {
	if c.n > 0 {
		return len(c.points) + 1
	}
	return len(c.points)
}

// XY returns the step and the number of point i, or their means if numbers were averaged.
func (c *Curve) XY(i int) (x, y float64) {
	if i == len(c.points) {
		return c.pending.x, c.pending.y
	}
	return c.points[i].x, c.points[i].y
}
