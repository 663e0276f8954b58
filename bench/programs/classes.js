// classes: inheritance, getters, setters, private and static members = 1439974
class Shape {
  static made = 0;
  #name;
  constructor(name) {
    this.#name = name;
    Shape.made++;
  }
  get name() {
    return this.#name;
  }
  area() {
    return 0;
  }
  describe() {
    return this.name.length + this.area();
  }
}

class Rectangle extends Shape {
  #width = 1;
  constructor(width, height) {
    super('rectangle');
    this.width = width;
    this.height = height;
  }
  get width() {
    return this.#width;
  }
  set width(value) {
    this.#width = value < 0 ? 0 : value;
  }
  area() {
    return this.width * this.height;
  }
}

class Square extends Rectangle {
  constructor(side) {
    super(side, side);
  }
  describe() {
    return super.describe() + 1;
  }
}

function work(size) {
  let sum = 0;
  for (let i = 0; i < size; i++) {
    const shape = i % 2 ? new Rectangle(i % 10, i % 7) : new Square(i % 5);
    shape.width += 1;
    sum += shape.describe() + (shape instanceof Square ? 1 : 0);
  }
  return sum + Shape.made;
}

work(60000);
